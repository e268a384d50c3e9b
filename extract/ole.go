package extract

import (
	"bytes"

	"github.com/richardlehane/mscfb"
)

// sniffOLE tells the formats that share Microsoft's compound file apart by their streams.
func sniffOLE(data []byte) (Format, error) {
	doc, err := mscfb.New(bytes.NewReader(data))
	if err != nil {
		return OLE, nil
	}
	f := OLE
	for e, err := doc.Next(); err == nil; e, err = doc.Next() {
		switch e.Name {
		case "WordDocument":
			return DOC, nil
		case "PowerPoint Document":
			return PPT, nil
		case "Workbook", "Book":
			return XLS, nil
		case "__properties_version1.0":
			if len(e.Path) == 0 {
				return MSG, nil
			}
		case "FileHeader", "HwpSummaryInformation", "\x05HwpSummaryInformation":
			return HWP, nil
		case "EncryptedPackage":
			return "", &Error{Code: Encrypted, Detail: "the document is password-protected"}
		}
	}
	return f, nil
}
