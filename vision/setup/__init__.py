"""Once per table: calibration of the view, enrolment of the deck."""
