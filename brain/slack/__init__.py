"""What Slack says and how: exports, the Web API's messages, their text. Knows nothing of the lake."""
