"""From a stored report to what people read: student reports, the class page. Pure; runs no student code."""
