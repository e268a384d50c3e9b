package extract

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// pdfDefined matches the predefined encodings of East Asian fonts (ISO 32000-1, section 9.7.5.2) with one- and two-byte codes that
// definedLetters can decode.
var pdfDefined = regexp.MustCompile(`/Encoding\s*/(Uni(?:GB|CNS|JIS|JISX0213|KS)-(?:UCS2|UTF16)|` +
	`GB-EUC|GBpc-EUC|GBK-EUC|GBKp-EUC|GBK2K|B5pc|ETen-B5|ETenms-B5|(?:83pv|90ms|90msp|90pv|Add|Ext)-RKSJ|EUC|KSC-EUC|KSCms-UHC|KSCpc-EUC)` +
	`(?:-HW)?-[HV]\b`)

// definedLetters returns a function from codes to letters for such an encoding, given its name as matched by pdfDefined.
func definedLetters(name string) func(code int) []rune {
	var page encoding.Encoding
	switch {
	case strings.HasPrefix(name, "Uni"):
		return func(code int) []rune {
			if r := rune(code); unicode.IsGraphic(r) {
				return []rune{r}
			}
			return nil
		}
	case strings.HasPrefix(name, "GB"):
		page = simplifiedchinese.GBK
	case strings.HasPrefix(name, "B5"), strings.HasPrefix(name, "ETen"):
		page = traditionalchinese.Big5
	case strings.HasSuffix(name, "RKSJ"):
		page = japanese.ShiftJIS
	case strings.HasPrefix(name, "KSC"):
		page = korean.EUCKR
	default:
		page = japanese.EUCJP
	}
	decoder := page.NewDecoder()
	return func(code int) []rune {
		raw := []byte{byte(code >> 8), byte(code)}
		if code < 1<<8 {
			raw = raw[1:]
		}
		out, err := decoder.Bytes(raw)
		r, size := utf8.DecodeRune(out)
		if err != nil || size != len(out) || r == utf8.RuneError || !unicode.IsGraphic(r) {
			return nil
		}
		return []rune{r}
	}
}
