"""Celery's settings: late acknowledgement, one job at a time, and no job lost when a worker dies.

There is no limit of time: a job's lease is the only one, and every report renews it.
"""

from django.conf import settings

from jobs.queue import SECONDS_BETWEEN_UPKEEP, Lane

broker_url = settings.REDIS_URL or "memory://"
broker_transport_options = {
    # A message that comes again while its job runs does no harm: nobody can take a job with a lease.
    "visibility_timeout": 3600,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # Without these, whoever waits for a Redis that has vanished waits for ever.
    "socket_timeout": 2,
    "socket_connect_timeout": 2,
    # A worker that serves several lanes takes jobs from the most urgent one, in the order of `task_queues`.
    "queue_order_strategy": "priority",
    "socket_keepalive": True,
    "health_check_interval": 10,
}
# A queue for each lane, which needs no binding: a Redis that was emptied would have forgotten it.
task_queues = {lane: {"exchange": "", "routing_key": lane} for lane in Lane.values}
task_default_queue = Lane.QUICK.value
broker_connection_retry_on_startup = True
# With a number, a worker would give up after it, and end as if all were well.
broker_connection_max_retries = None
task_ignore_result = True
task_acks_late = True
task_reject_on_worker_lost = True
worker_prefetch_multiplier = 1
worker_hijack_root_logger = False
# For Flower and exporters, which show each task with its kind, its job's number, duration and failure.
worker_send_task_events = True
task_send_sent_event = True
RESEND = 30.0  # seconds
# A message that nobody has taken when the next one is sent is of no use any more: without an end they pile up.
beat_schedule = {
    "resend": {"task": "jobs.resend", "schedule": RESEND, "options": {"expires": RESEND}},
    "upkeep": {
        "task": "jobs.upkeep",
        "schedule": SECONDS_BETWEEN_UPKEEP,
        "options": {"expires": SECONDS_BETWEEN_UPKEEP, "queue": Lane.LONG.value},
    },
}
beat_schedule_filename = str(settings.HOME / "celery-beat")
