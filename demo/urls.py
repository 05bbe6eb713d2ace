"""The address of the demo's tour."""

from django.urls import path

from demo.tour import tour

urlpatterns = [path("demo/tour/<int:step>", tour, name="tour")]
