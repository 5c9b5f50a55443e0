"""Fields at infinity from records on a closed contour, and the figures that antenna engineers read off them."""
