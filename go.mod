module concordat

go 1.26.0

require (
	github.com/blevesearch/go-porterstemmer v1.0.3
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/google/go-cmp v0.7.0
	github.com/klauspost/compress v1.20.3
	github.com/klippa-app/go-pdfium v1.19.2
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/pressly/goose/v3 v3.29.0
	github.com/richardlehane/mscfb v1.0.9
	github.com/saintfish/chardet v0.0.0-20230101081208-5e3ef4b5456d
	github.com/tetratelabs/wazero v1.12.0
	github.com/yanyiwu/gojieba v1.4.7
	github.com/yuin/goldmark v1.8.7
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/net v0.62.0
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
	golang.org/x/text v0.43.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/jolestar/go-commons-pool/v2 v2.1.2 // indirect
	github.com/mfridman/interpolate v0.0.2 // indirect
	github.com/richardlehane/msoleps v1.0.3 // indirect
	github.com/sethvargo/go-retry v0.5.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
)
