package extract

import (
	"bytes"
	"strings"

	"github.com/richardlehane/mscfb"
)

// sniffOLE distinguishes the formats based on Microsoft's compound file by their streams.
func sniffOLE(data []byte) (Format, error) {
	doc, err := mscfb.New(bytes.NewReader(data))
	if err != nil {
		return OLE, nil
	}
	f := OLE
	for e, err := doc.Next(); err == nil; e, err = doc.Next() {
		switch strings.ToLower(e.Name) {
		case "worddocument":
			return DOC, nil
		case "powerpoint document":
			return PPT, nil
		case "workbook", "book":
			return XLS, nil
		case "__properties_version1.0":
			if len(e.Path) == 0 {
				return MSG, nil
			}
		case "fileheader", "hwpsummaryinformation", "\x05hwpsummaryinformation":
			return HWP, nil
		case "encryptedpackage":
			return "", &Error{Code: Encrypted, Detail: "the document is password-protected"}
		}
	}
	return f, nil
}
