module concordat

go 1.26

require (
	github.com/blevesearch/go-porterstemmer v1.0.3
	github.com/cespare/xxhash/v2 v2.3.0
)
