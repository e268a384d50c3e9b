package extract

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// eightBit is a code page with one byte per character.
type eightBit interface {
	encoding.Encoding
	DecodeByte(b byte) rune
}

var _, _ eightBit = (*charmap.Charmap)(nil), (*dosPage)(nil)

// dosPage is the upper half of a DOS code page that package charmap lacks.
type dosPage [128]rune

// The Greek and Turkish DOS code pages.
var (
	codePage737 = newDOSPage("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρσςτυφχψ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
		"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀ωάέήϊίόύϋώΆΈΉΊΌΎΏ±≥≤ΪΫ÷≈°∙·√ⁿ²■\u00a0")
	codePage857 = newDOSPage("ÇüéâäàåçêëèïîıÄÅÉæÆôöòûùİÖÜø£ØŞşáíóúñÑĞğ¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐" +
		"└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ºªÊËÈ\ufffdÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµ\ufffd×ÚÛÙìÿ¯´\u00ad±\ufffd¾¶§÷¸°¨·¹³²■\u00a0")
)

func newDOSPage(upper string) *dosPage { return (*dosPage)([]rune(upper)) }

// DecodeByte returns the character of a byte.
func (p *dosPage) DecodeByte(b byte) rune {
	if b < 0x80 {
		return rune(b)
	}
	return p[b-0x80]
}

// NewDecoder returns a decoder to UTF-8.
func (p *dosPage) NewDecoder() *encoding.Decoder {
	return &encoding.Decoder{Transformer: transform.Chain(charmap.ISO8859_1.NewDecoder(), runes.Map(func(r rune) rune {
		return p.DecodeByte(byte(r)) // each character is one byte
	}))}
}

// NewEncoder returns an encoder that changes nothing, because names are only read.
func (p *dosPage) NewEncoder() *encoding.Encoder { return encoding.Nop.NewEncoder() }
