"""Saved flows: saving them, listing them, and finding them by their purpose."""
