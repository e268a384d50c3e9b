package extract

import "testing"

func TestMetadataDates(t *testing.T) {
	for raw, want := range map[string]string{
		"2019-03-14T12:00:00Z":    "2019-03-14",
		"D:20190314120000+01'00'": "2019-03-14",
		"D:2019":                  "2019",
		"D:201903":                "2019-03",
		" 2019 ":                  "2019",
		"2019-3":                  "2019",
		"2019/03/14":              "2019-03-14",
		"2019-02-30":              "2019-02",
		"1601-01-01T00:00:00Z":    "",
		"1980-01-01":              "",
		"2013-12-23T23:15:00Z":    "", // from the template of python-docx
		"2013-12-23T10:00:00Z":    "2013-12-23",
		"2013-01-27T09:14:16Z":    "",
		"2006-09-16T00:00:00Z":    "",
		"D:20000101000000+00'00'": "",
		"2000-01-01":              "2000-01-01",
		"0001-01-01":              "",
		"yesterday":               "",
		"":                        "",
		"20190314":                "2019-03-14",
		"1979-12-31T23:00:00Z":    "", // midnight of the clock's first day, in a time zone farther east
		"1979-12-31T22:59:00Z":    "1979-12-31",
	} {
		b := &builder{}
		b.dated(raw)
		if b.res.Date != want {
			t.Errorf("%q: date %q, want %q", raw, b.res.Date, want)
		}
	}
	for raw, want := range map[string]string{
		"2019-03-14T12:00:00Z":        "2019-03-14T12:00:00Z",
		"2019-03-14T12:00:00.5+01:00": "2019-03-14T12:00:00+01:00",
		"D:20190314120000+01'00'":     "2019-03-14T12:00:00+01:00",
		"D:20190314120000-05'30":      "2019-03-14T12:00:00-05:30",
		"D:20190314120000+01":         "2019-03-14T12:00:00+01:00",
		"D:20190314120000Z00'00'":     "2019-03-14T12:00:00Z",
		"2019-03-14T12:00:00":         "", // the time zone is missing, so this may be any time within 26 hours
		"D:20190314120000":            "",
		"2019-03-14T00:00:00Z":        "", // the time of day is missing
		"2019-03-14":                  "",
		"2019-03-14T25:00:00Z":        "",
		"2013-12-23T23:15:00Z":        "", // from the template of python-docx
	} {
		b := &builder{}
		b.dated(raw)
		if b.res.Time != want {
			t.Errorf("%q: time %q, want %q", raw, b.res.Time, want)
		}
	}
	for name, c := range map[string]struct{ file, want string }{
		"page.html": {`<html><head><meta property="article:published_time" content="2021-05-06T07:08:09Z"><title>T</title></head><body><p>Some words of a page that is long enough.</p></body></html>`, "2021-05-06"},
		"mail.eml":  {"From: a@example.org\r\nSubject: On dates\r\nDate: Fri, 06 May 2022 07:08:09 +0000\r\nContent-Type: text/plain\r\n\r\nSome words of a message.\r\n", "2022-05-06"},
		"note.md":   {"---\ntitle: T\ndate: 2020-11\n---\n\nSome words of a note.\n", "2020-11"},
		"a.fodt":    {`<?xml version="1.0"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:meta><meta:creation-date>2018-07-09T10:00:00</meta:creation-date></office:meta><office:body><office:text><text:p>Some words of a letter.</text:p></office:text></office:body></office:document>`, "2018-07-09"},
		"a.rtf":     {`{\rtf1{\info{\title T}{\creatim\yr2017\mo3\dy9\hr10\min2}{\revtim\yr2020\mo1\dy1}}Some words of a letter.\par}`, "2017-03-09"},
		"b.rtf":     {`{\rtf1{\info{\creatim\yr1601\mo1\dy1}}Some words of a letter.\par}`, ""},
		"a.fb2":     {`<?xml version="1.0"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info><date value="2011-02-03">winter</date></title-info><document-info><date>2020</date></document-info></description><body><section><p>Some words of a book.</p></section></body></FictionBook>`, "2011-02-03"},
		"plain.txt": {"Written on 2020-11-02, but that is text and no metadata.", ""},
	} {
		r, err := Bytes(name, []byte(c.file), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Date != c.want {
			t.Errorf("%s: date %q, want %q", name, r.Date, c.want)
		}
	}
}

func TestXMPDate(t *testing.T) {
	for packet, want := range map[string]string{
		`<x:xmpmeta><dc:format>application/pdf</dc:format><xmp:CreateDate>2015-08-09T10:11:12Z</xmp:CreateDate></x:xmpmeta>`: "2015-08-09T10:11:12Z",
		`<x:xmpmeta><rdf:Description pdf:Producer="x" xmp:CreateDate="2016-01"/></x:xmpmeta>`:                                "2016-01",
		`<x:xmpmeta><dc:format>image/jpeg</dc:format><xmp:CreateDate>2015</xmp:CreateDate></x:xmpmeta>`:                      "",
		`<x:xmpmeta>`: "",
		`<x:xmpmeta xmlns:xap="http://ns.adobe.com/xap/1.0/"><pdf:Producer/><xap:CreateDate>2014-03-02</xap:CreateDate></x:xmpmeta>`: "2014-03-02",
	} {
		if got := newPDFObjects([]byte("%PDF-1.7 "+packet+" rest"), Options{}).xmpDate(); got != want {
			t.Errorf("%s: got %q, want %q", packet, got, want)
		}
	}
}
