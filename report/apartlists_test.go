package report_test

import (
	"strings"
	"testing"

	"concordat/report"
)

// TestListsApart: lists of headings, abbreviations and acknowledgements are not the author's prose; text that merely looks like
// such a list is.
func TestListsApart(t *testing.T) {
	const prose = "The mill stood at the bend of the river for as long as anybody could say, and its wheel turned twice a year.\n\n"
	for _, c := range []struct {
		why        report.ApartAs
		text, want string // the end of the part; empty for the whole text
	}{
		{report.AsContents, "摘要\n第一章 绪论\n1.1 研究背景与研究意义\n1.2 国内外研究现状综述\n1.3 研究内容与研究方法\n参考文献", ""},
		{report.AsContents, "1 Introduction\n2 Background\n2.1 Mills\n2.2 Rivers\n3 Methods\nReferences", ""},
		{report.AsContents, "Kapitel 1: Einleitung\nKapitel 2: Mühlen\nKapitel 3: Flüsse\nKapitel 4: Schluss", ""},
		{report.AsAbbreviations, "缩略语表\nGDP 国内生产总值\nWTO 世界贸易组织\nSPSS 社会科学统计软件包\nHPLC 高效液相色谱法", ""},
		{report.AsAbbreviations, "OCR: optical character recognition\nTLS: transport layer security\nNFC – near field communication\nUTF8 = a character encoding", ""},
		{report.AsThanks, "致谢：时光荏苒，转眼三年即将结束。首先衷心感谢我的导师。同时感谢各位老师。最后感谢父母多年来的支持。", ""},
		{report.AsThanks, "Acknowledgements\n\nI thank my supervisor for her patience. I am grateful to the miller, who let me measure the wheel.", ""},
		{report.AsThanks, "Danksagung. Ich danke meinem Betreuer für die Geduld. Mein Dank gilt auch dem Müller.", ""},
		{report.AsConstants, "Element | Symbol | Atomic number | Standard atomic weight\nCarbon | C | 6 | 12.011\nNitrogen | N | 7 | 14.007\nOxygen | O | 8 | 15.999\nFluorine | F | 9 | 18.998", ""},
		{report.AsConstants, "Ordnungszahl\tName\tMasse\n26\tEisen\t55,845\n29\tKupfer\t63,55\n47\tSilber\t107,87\n79\tGold\t196,967", ""},
		{report.AsConstants, "Speed of light: 2.99792458 × 10^8 m/s\nPlanck constant: 6.62607015e-34 J s\nAvogadro constant: 6.02214 × 10^23 per mole\nStandard gravity: 9.80665 m/s", ""},
		{report.AsConstants, "1 mile = 1.609344 km\n1 pound = 0.45359237 kg\n1 ounce = 28.3495 g", ""},
		{report.AsContents, "Contents\n\n1 Introduction.............1 2 The mills.............14 2.1 Wheels.............16 3 The river.............31 " +
			"The river was measured where the page was turned.", "31"},
		{report.AsThanks, "Remerciements\n\nJe remercie mon directeur de ses conseils.\n\nThe wheel was measured twice.", "conseils."},
	} {
		text := prose + c.text + "\n\n" + prose
		want := c.text
		if c.want != "" {
			want = c.text[:strings.Index(c.text, c.want)+len(c.want)]
		}
		all := report.PartsApart(text)
		if len(all) != 1 || all[0].Why != c.why || all[0].In(text) != want {
			t.Errorf("%q: %v, want %s", c.text, all, c.why)
		}
	}
	page := strings.Repeat("The wheel was measured at dawn and at dusk by three people who did not know of one another. ", 12)
	for _, own := range []string{
		"Acknowledgements\n\n" + page,
		"Acknowledgements: " + page,
		"Acknowledgements\n\n" + strings.Repeat("I thank the miller for the wheel, which is as wide as the river is deep. ", 12),
		"Element | Z | Content in the ash\nFe | 26 | 3.41\nCu | 29 | 0.72\nAg | 47 | 0.03\nAu | 79 | 0.01",
		"Element | Weight\nCarbon | 12.411\nNitrogen | 14.307\nOxygen | 15.199\nFluorine | 18.498",
		"The sum of what the river carried in a year is this: 14\nCarbon | C | 6 | 12.011\nNitrogen | N | 7 | 14.007\n" +
			"and the miller wrote it down on the door of the mill",
		"Run | Frequency\n1 | 29971.1\n2 | 66260.3\n3 | 60221.9\n4 | 98061.2",
		"1 Sample A 3.41\n2 Sample B 3.52\n3 Sample C 3.77\n4 Sample D 3.90\n5 Sample E 4.02",
		"ALPHA 0.31 0.42\nBETA 0.33 0.44\nGAMMA 0.35 0.46\nDELTA 0.37 0.48",
		"1) measured the wheel at dawn\n2) asked the miller for his books\n3) counted the boats below the weir\n4) drew the bend of the river\n5) left",
		"1. Das Rad am Morgen gemessen\n2. Den Müller nach seinen Büchern gefragt\n3. Die Boote unter dem Wehr gezählt\n4. Den Fluss gezeichnet",
		"1 The wheel was measured at dawn by three people\n2 who did not know of one another and had no\n" +
			"3 reason to agree on what they saw that day, but\n4 they did, to the width of a hand or less.",
	} {
		text := prose + own + "\n\n" + prose
		for _, x := range report.PartsApart(text) {
			if strings.Count(x.In(text), " ") > 3 {
				t.Errorf("%q: %s %q", own, x.Why, x.In(text))
			}
		}
	}
}
