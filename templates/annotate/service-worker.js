// Without a network, a page of the annotator leads to a page that says so, or to the batch that she loaded ahead
// (ahead.js), which alone is kept of anybody, until she has submitted it or signs out.
// A notification that is clicked leads to the page that showed it.
"use strict";

const NAME = "offline";
const CACHE = `${NAME} {{ page_version }} {{ language }}`; // so that a new version of the pages makes it anew
const PAGE = "{% url 'offline' language %}";
const HOME = "{% url 'work' %}";
const STATIC = "{% get_static_prefix %}";
const FILES = [PAGE, {% for file in files %}"{% static file %}"{% if not forloop.last %}, {% endif %}{% endfor %}];

addEventListener("install", (event) => {
  skipWaiting();
  // Asked for without a cookie, so that it is nobody's page.
  const requests = FILES.map((file) => new Request(file, { credentials: "omit" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
});

addEventListener("activate", (event) => {
  event.waitUntil(Promise.all([forget(), registration.navigationPreload?.enable()]));
});

async function forget() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(NAME) && name !== CACHE).map((name) => caches.delete(name)));
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const { pathname } = new URL(request.url);
  if (request.mode === "navigate" && request.method === "GET") event.respondWith(page(event));
  else if (request.mode === "navigate" && !navigator.onLine) event.respondWith(Response.redirect(HOME, 303));
  else if (pathname.startsWith(STATIC)) event.respondWith(fetch(request).catch(() => kept(pathname)));
});

addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(home());
});

async function home() {
  const [open] = await clients.matchAll({ type: "window" });
  return open ? open.focus() : clients.openWindow(HOME);
}

async function page({ request, preloadResponse }) {
  try {
    return (await preloadResponse) || (await fetch(request));
  } catch {
    const { pathname } = new URL(request.url);
    return (await caches.match(pathname, { ignoreVary: true })) || kept(PAGE);
  }
}

async function kept(file) {
  return (await caches.match(file, { ignoreVary: true })) || Response.error();
}
