"""Control: stepping by hand, feedback laws, equations in the coordinates of joints."""
