"""What MindRecord's parts share."""
