"""Whether a measure can be believed: AxIoU's Figures 4 to 10 for runs of a release, and other ways of judging it."""
