package main

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"time"
)

// made is the date in the file; it is fixed, so that the same text yields the same bytes.
var made = time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)

const (
	xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	wordNS  = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	fonts   = `<w:rFonts w:ascii="Times New Roman" w:hAnsi="Times New Roman" w:eastAsia="SimSun" w:cs="Times New Roman"/>`
)

const contentTypes = xmlHead + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
	`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
	`<Default Extension="xml" ContentType="application/xml"/>` +
	`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>` +
	`<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/>` +
	`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
	`</Types>`

const rels = xmlHead + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
	`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>` +
	`<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/>` +
	`</Relationships>`

const documentRels = xmlHead + `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
	`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>` +
	`</Relationships>`

const styles = xmlHead + `<w:styles ` + wordNS + `>` +
	`<w:docDefaults><w:rPrDefault><w:rPr>` + fonts + `<w:sz w:val="22"/><w:lang w:val="en-GB" w:eastAsia="zh-CN"/></w:rPr></w:rPrDefault>` +
	`<w:pPrDefault><w:pPr><w:spacing w:after="140" w:line="276" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>` +
	`<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>` +
	`<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/><w:rPr><w:b/><w:sz w:val="36"/></w:rPr></w:style>` +
	`<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/>` +
	`<w:pPr><w:keepNext/><w:spacing w:before="240"/><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/><w:sz w:val="26"/></w:rPr></w:style>` +
	`</w:styles>`

// writeDocx returns the paragraphs as an Office Open XML text document (ECMA-376). It stores the parts without compression, since
// compressed bytes can differ between versions of the compressor.
func writeDocx(paragraphs []paragraph) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, part := range []struct{ name, text string }{
		{"[Content_Types].xml", contentTypes},
		{"_rels/.rels", rels},
		{"word/document.xml", documentXML(paragraphs)},
		{"word/_rels/document.xml.rels", documentRels},
		{"word/styles.xml", styles},
		{"docProps/core.xml", coreXML(paragraphs[0].text)},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Store, Modified: made})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(part.text)); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}

func documentXML(paragraphs []paragraph) string {
	var b bytes.Buffer
	b.WriteString(xmlHead + `<w:document ` + wordNS + `><w:body>` + "\n")
	for _, p := range paragraphs {
		b.WriteString(`<w:p>`)
		if p.style != "" {
			fmt.Fprintf(&b, `<w:pPr><w:pStyle w:val="%s"/></w:pPr>`, p.style)
		}
		fmt.Fprintf(&b, `<w:r><w:t xml:space="preserve">%s</w:t></w:r></w:p>`+"\n", escape(p.text))
	}
	b.WriteString(`<w:sectPr><w:pgSz w:w="11906" w:h="16838"/>` +
		`<w:pgMar w:top="1418" w:right="1418" w:bottom="1418" w:left="1418" w:header="709" w:footer="709" w:gutter="0"/></w:sectPr>`)
	b.WriteString(`</w:body></w:document>`)
	return b.String()
}

func coreXML(title string) string {
	date := made.Format(time.RFC3339)
	return xmlHead + `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"` +
		` xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
		`<dc:title>` + escape(title) + `</dc:title>` +
		`<dcterms:created xsi:type="dcterms:W3CDTF">` + date + `</dcterms:created>` +
		`<dcterms:modified xsi:type="dcterms:W3CDTF">` + date + `</dcterms:modified></cp:coreProperties>`
}

func escape(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // writing to a bytes.Buffer cannot fail
	}
	return b.String()
}
