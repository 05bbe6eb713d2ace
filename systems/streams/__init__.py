"""XML, ReLoCLNet and CONQUER: systems that read a query beside a video stream and a stream of subtitles."""
