module streamer

go 1.26
