"""The server under load: what a streamed token costs, and how many streams two cores carry."""
