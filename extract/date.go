package extract

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// metadataDate matches the date formats used in files: 2019-03-14T12:00:00Z, D:20190314120000+01'00', 2019/3, 2019.
var metadataDate = regexp.MustCompile(`^(?:D:)?([0-9]{4})(?:[-/.]?([0-9]{2})(?:[-/.]?([0-9]{2}))?)?(?:[^0-9]|[0-9]{6}|[0-9]{4}|$)`)

// defaultDays are the epochs of computer clocks, which programs write if they do not know the date.
var defaultDays = []string{"1601-01-01", "1858-11-17", "1899-12-30", "1899-12-31", "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01"}

// defaultTimes are the creation times of templates distributed with libraries; a document made from such a template keeps its time. They
// come from python-docx, python-pptx, several libraries' workbooks, PDF writers without a clock, and Apple's clock.
var defaultTimes = []string{"20131223T231500", "20130127T091416", "20060916T000000", "20000101T000000", "20010101T000000"}

// isDefaultTime reports whether raw, which starts with a date, is one of defaultTimes to the second.
func isDefaultTime(raw string) bool {
	digits := strings.NewReplacer("D:", "", "-", "", ":", "", "T", "", " ", "").Replace(raw)
	return slices.ContainsFunc(defaultTimes, func(t string) bool {
		return strings.HasPrefix(digits, strings.ReplaceAll(t, "T", ""))
	})
}

// isDefaultDay reports whether raw, in any time zone, is midnight of one of defaultDays in some time zone.
func isDefaultDay(raw string) bool {
	at, err := time.Parse(time.RFC3339, raw)
	if err != nil || at.Minute() != 0 || at.Second() != 0 {
		return false
	}
	return slices.ContainsFunc(defaultDays, func(day string) bool {
		midnight, err := time.Parse(time.DateOnly, day)
		const east, west = 14 * time.Hour, 12 * time.Hour
		return err == nil && !at.Before(midnight.Add(-east)) && !at.After(midnight.Add(west))
	})
}

// dated records the document's date if the raw metadata contains one and none has been recorded yet.
func (b *builder) dated(raw string) {
	m := metadataDate.FindStringSubmatch(strings.TrimSpace(raw))
	if m == nil || b.res.Date != "" || m[1] < "1000" || isDefaultTime(strings.TrimSpace(raw)) || isDefaultDay(strings.TrimSpace(raw)) {
		return
	}
	for n := 3; n >= 1; n-- {
		form := []string{"2006", "2006-01", "2006-01-02"}[n-1]
		date := strings.TrimRight(strings.Join(m[1:1+n], "-"), "-")
		if _, err := time.Parse(form, date); err == nil {
			if !slices.Contains(defaultDays, date) {
				b.res.Date, b.res.Time = date, timeOf(raw)
			}
			return
		}
	}
}

// metadataTime matches a day with its time of day and its zone in the forms that metadataDate reads.
var metadataTime = regexp.MustCompile(`^(?:D:)?([0-9]{4})[-/.]?([0-9]{2})[-/.]?([0-9]{2})[T ]?([0-9]{2}):?([0-9]{2}):?([0-9]{2})(?:[.,][0-9]+)? ?(?:(Z)|([+-][0-9]{2})[':]?([0-9]{2})?)`)

// timeOf returns the time in text that dated can read, or "" if there is none. Programs that know only the day write midnight, and a time
// without a zone may be any of 26 hours.
func timeOf(raw string) string {
	m := metadataTime.FindStringSubmatch(strings.TrimSpace(raw))
	if m == nil || m[4]+m[5]+m[6] == "000000" {
		return ""
	}
	zone := m[8] + ":" + cmp.Or(m[9], "00")
	if m[7] != "" || zone == "+00:00" || zone == "-00:00" {
		zone = "Z"
	}
	out := strings.Join(m[1:4], "-") + "T" + strings.Join(m[4:7], ":") + zone
	if _, err := time.Parse(time.RFC3339, out); err != nil {
		return ""
	}
	return out
}

// The creation date in an XMP packet (ISO 16684-1) is an element or an attribute of this namespace.
var (
	xmpPrefix  = regexp.MustCompile(`xmlns:([A-Za-z_][\w.-]*)\s*=\s*["']http://ns\.adobe\.com/xap/1\.0/["']`)
	xmpCreated = regexp.MustCompile(`([A-Za-z_][\w.-]*):CreateDate(?:\s*=\s*["']|\s*>\s*)([0-9T:.+Z-]{4,35})`)
)

// maxPacket is the maximum size of an XMP packet to search, in bytes.
const maxPacket = 1 << 20

// xmpDate returns the date in the PDF's own packet, which the catalog names; pictures in a PDF have packets too. If the catalog cannot be
// found, it uses the packet that mentions PDF.
func (p *pdfObjects) xmpDate() string {
	if catalog := p.catalog(); catalog != nil {
		m := pdfMetadata.FindSubmatch(catalog)
		if m == nil {
			return ""
		}
		return packetDate(p.stream(string(m[1])))
	}
	for data := p.data; ; {
		from := bytes.Index(data, []byte("<x:xmpmeta"))
		if from < 0 {
			return ""
		}
		data = data[from:]
		to := bytes.Index(data[:min(len(data), maxPacket)], []byte("</x:xmpmeta>"))
		if to < 0 {
			data = data[1:]
			continue
		}
		packet := data[:to]
		data = data[to:]
		if !bytes.Contains(packet, []byte("application/pdf")) && !bytes.Contains(packet, []byte("pdf:Producer")) {
			continue
		}
		if date := packetDate(packet); date != "" {
			return date
		}
	}
}

// packetDate returns the creation date in a packet.
func packetDate(packet []byte) string {
	s, err := decodeXML(packet[:min(len(packet), maxPacket)])
	if err != nil {
		return ""
	}
	prefix := "xmp"
	if m := xmpPrefix.FindStringSubmatch(s); m != nil {
		prefix = m[1]
	}
	for _, m := range xmpCreated.FindAllStringSubmatch(s, -1) {
		if m[1] == prefix {
			return m[2]
		}
	}
	return ""
}
