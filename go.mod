module concordat

go 1.26.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/klauspost/compress v1.20.3
	github.com/yanyiwu/gojieba v1.4.7
	golang.org/x/sys v0.49.0
	golang.org/x/text v0.43.0
)
