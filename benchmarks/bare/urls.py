"""The bare view: it takes a grade as the workplace sends it, and stores one row in a transaction."""

import json

from django.contrib.auth.decorators import login_not_required
from django.db import connection, transaction
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt


def store(request: HttpRequest, position: int) -> JsonResponse:
    body = json.loads(request.body)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO bare VALUES (%s, %s, %s)", [position, body["grade"], body["key"]])
    return JsonResponse({"position": position, "grade": body["grade"]})


@csrf_exempt
@login_not_required
def store_for_anybody(request: HttpRequest, position: int) -> JsonResponse:
    return store(request, position)


@login_not_required
def is_up(request: HttpRequest) -> JsonResponse:
    return JsonResponse({})


urlpatterns = [
    path("bare/anybody/<int:position>", store_for_anybody),
    path("bare/signed-in/<int:position>", store),
    path("sign-in/", is_up),
    path("", include("config.urls")),
]
