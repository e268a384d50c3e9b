package extract

import (
	"strings"

	"github.com/saintfish/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

var hzEncoding encoding.Encoding = simplifiedchinese.HZGB2312

// candidates are the encodings that guessEncoding weighs and byName knows beside the HTML ones.
var candidates = []struct {
	name string
	enc  encoding.Encoding
}{
	{"ibm855", charmap.CodePage855},
	{"ibm866", charmap.CodePage866},
	{"ibm437", charmap.CodePage437},
	{"ibm850", charmap.CodePage850},
	{"ibm852", charmap.CodePage852},
}

func guessEncoding(data []byte) (charset, error) {
	all, err := chardet.NewTextDetector().DetectAll(data[:min(len(data), detectWindow)])
	if err != nil {
		return charset{}, &Error{Code: Encoding, Detail: "no known encoding fits"}
	}
	for _, r := range all {
		c, ok := byName(strings.ToLower(r.Charset))
		if ok && c.enc != nil && c.fits(data) {
			return c, nil
		}
	}
	return charset{}, &Error{Code: Encoding, Detail: "no known encoding fits"}
}
