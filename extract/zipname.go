package extract

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// zipPages lists the code pages that programs use for names in zip files, each with a handicap in bits; Windows itself uses the DOS code
// page, and other programs the Windows one.
var zipPages = []struct {
	enc  encoding.Encoding
	wide *wideScript // nil for an 8-bit page, which is judged by letter pairs
	odd  float64
}{
	{charmap.CodePage437, nil, 0}, {charmap.CodePage850, nil, 0}, {charmap.CodePage852, nil, 0}, {charmap.CodePage866, nil, 0},
	{charmap.CodePage855, nil, 4}, {charmap.CodePage862, nil, 4}, {charmap.CodePage860, nil, 4}, {charmap.CodePage863, nil, 4},
	{charmap.CodePage865, nil, 4}, {codePage737, nil, 2}, {codePage857, nil, 4},
	{charmap.Windows874, nil, 2}, {charmap.Windows1252, nil, 2}, {charmap.Windows1250, nil, 2},
	{charmap.Windows1251, nil, 2}, {charmap.Windows1253, nil, 2}, {charmap.Windows1254, nil, 3}, {charmap.Windows1255, nil, 3},
	{charmap.Windows1256, nil, 3}, {charmap.Windows1257, nil, 3}, {charmap.KOI8R, nil, 4}, {charmap.Macintosh, nil, 6},
	{simplifiedchinese.GBK, &simplified, 0}, {japanese.ShiftJIS, &japan, 0}, {korean.EUCKR, &korea, 0},
	{traditionalchinese.Big5, &traditional, 0},
}

// wideScript states how likely the characters of a script are in a name.
type wideScript struct {
	common   map[rune]bool      // characters most frequent in names
	ordinary func([2]byte) bool // reports whether two bytes are in the part of the page taught at schools
}

func newWide(common string, ordinary func([2]byte) bool) wideScript {
	w := wideScript{map[rune]bool{}, ordinary}
	for _, r := range common {
		w.common[r] = true
	}
	return w
}

var (
	// The first level of GB 2312, JIS X 0208 and Big5, and the syllables of KS X 1001.
	simplified = newWide(`的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文无开手用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代军产入先山五太水万市眼体别处总才场师书比住员九笑性通目华报立马命张活难神数件安表原车白应路期叫死常提感金何更反合放做系计或司利受光王果亲界及今京务制解各任至清物台象记边共风战干接它许八特觉望直服毛林题建南度统色字请交爱让认算论百吃义科怎元社术结六功指思非流每青管夫连远资队跟带花快条院变联权往展该领传近留红治决周保达办运武半候七必城父强步完革深区即求品士转量空甚众技轻程告江语英基派满式李息写呢识极令黄德收脸钱党倒未持取设始版双历越史商千片容研像找友孩站广改议形委早房音火际则首单据导影失拿网香似斯专石若兵弟谁校读志飞观争究包组造落视济喜离虽坏宝谈集编确案课业毕第章节稿终最终修改作业论文报告学号姓名班级陈刘杨赵吴徐孙胡朱郭何罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔崔康毛邱秦顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚伟芳娜敏静丽强磊军洋勇艳杰娟涛超霞平刚桂摘要附件初稿定稿封面开题申请书项目计划总结实验练习答案材料翻译评估研究生本科硕士博士大学学院系专业`,
		func(b [2]byte) bool { return b[0] >= 0xb0 && b[0] <= 0xd7 && b[1] >= 0xa1 })
	traditional = newWide(`的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平真聽世氣信北少關並內加化由卻代軍產入先山五太水萬市眼體別處總才場師書比住員九笑性通目華報立馬命張活難神數件安表原車白應路期叫死常提感金何更反合放做系計或司利受光王果親界及今京務制解各任至清物台象記邊共風戰題建南度統色字請交愛讓認算論百科元社術結六功指思非流每青管連遠資隊帶花快條院變聯權展該領傳近留紅治決周保達辦運半候七必城強步完深區求品轉量空技程告江語英基派滿式李息寫識極令黃德收錢黨設始版雙歷史商千片容研找友廣改議形委早房音際首單據導影網專課畢章節稿終修學號姓名班級陳劉楊趙吳徐孫胡朱郭羅梁宋鄭謝韓唐馮許傅沈曾彭呂蘇盧蔣蔡賈作業論文報告附件摘要申請書計畫總結實驗練習答案材料翻譯評估研究大學學院`,
		func(b [2]byte) bool { return b[0] >= 0xa4 && b[0] <= 0xc6 })
	japan = newWide(`あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがぎぐげござじずぜぞだぢづでどばびぶべぼぱぴぷぺぽゃゅょっアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲンガギグゲゴザジズゼゾダヂヅデドバビブベボパピプペポャュョッァィゥェォヴー・日本人大学生年月会社国語文書論文報告書作業課題提出最終版第章回期末中間研究計画卒業修士博士氏名番号田中山川村井上佐藤鈴木高橋伊渡辺小林加吉清斎松石原野内島西東北南木森池前後長谷藤岡橋本地方新聞電車時間問題解答資料表紙目次参考要旨概説調査分析結果考察実験練習演習授業講義科目部員室科技術工業経済政治法律医理化物数英歴史教育心理体育音楽美術情報処理設計画面名前一二三四五六七八九十百千万円子太郎花美優香健一郎様用事件行動物発表会議録者達成立場合同意見学校先生徒`,
		func(b [2]byte) bool { return b[0] >= 0x88 && b[0] <= 0x97 })
	korea = newWide(`가각간갈감강개거건걸검것게격견결경계고곡공과관광교구국군권귀규그극근글금급기긴길김까나난날남내너네년노농누는능니다단달담당대더덕도독동되두드득든등디따때라란람래량러런력련령로록론료루류륙률르른를름리린림립마만말망매면명모목무문물미민밀바박반발방배백번벌범법변별병보복본봉부북분불비사산살상새색생서석선설성세소속손송수순술스습승시식신실심십싱아안알암애야약양어언업에여역연열영예오온올완왕외요용우운울원월위유육윤은을음의이인일임입자작잔장재저적전절점정제조족존종좌주준중즉증지직진질집차참창채책처천철첫청체초총최추축출충취치친코크타태터테토통투트특티파판팔패편평폐포표품프피하학한할함합항해행향허험현형호화확환활황회획효후훈휴흐희히힘과제보고서논문최종제출레포트리포트김이박최정강조윤장임한오서신권황안송류전홍과목학번이름반수업발표자료중간기말시험답안`,
		func(b [2]byte) bool { return b[0] >= 0xb0 && b[0] <= 0xc8 && b[1] >= 0xa1 })
)

// Bits of surprise for the characters of East Asian names.
const (
	commonWide   = 7.0
	ordinaryWide = 12.0
	rareWide     = 19.0
	halfKana     = 13.0 // half-width, with one byte each
	besideLatin  = 12.0 // a Latin letter next to it
	undecodable  = 200.0
	amongLatin   = 12.0 // added for one character between two Latin letters
)

// cost returns the surprise, in bits, of a name in this script whose raw bytes decode to s in a multi-byte code page.
func (w *wideScript) cost(raw []byte, enc encoding.Encoding) float64 {
	s, err := enc.NewDecoder().Bytes(raw)
	if err != nil {
		return float64(len(raw)) * 3 * unseenSymbol
	}
	total, at, before, third := 0.0, 0, rune(' '), rune(' ')
	for _, r := range string(s) {
		latin := func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) }
		switch {
		case r == utf8.RuneError:
			total += undecodable
		case r < 0x80:
			if before >= 0x80 && latin(r) {
				total += besideLatin
				if latin(third) {
					total += amongLatin
				}
			}
		default:
			if latin(before) {
				total += besideLatin
			}
			total += w.character(r, raw, at)
		}
		at++
		if r >= 0x80 && !isHalfKana(r) {
			at++
		}
		third, before = before, r
	}
	return total
}

func isHalfKana(r rune) bool { return r >= 0xff61 && r <= 0xff9f }

// character returns the surprise of a character at byte at of raw.
func (w *wideScript) character(r rune, raw []byte, at int) float64 {
	switch {
	case isHalfKana(r):
		return halfKana
	case w.common[r]:
		return commonWide
	case unicode.Is(unicode.Co, r):
		return 3 * unseenSymbol
	case at+1 < len(raw) && w.ordinary([2]byte{raw[at], raw[at+1]}):
		return ordinaryWide
	case !unicode.IsLetter(r) && strings.ContainsRune("　、。「」『』（）【】《》〈〉・～－—：；！？“”", r):
		return commonSign
	case !unicode.IsLetter(r):
		return unseenSymbol
	}
	return rareWide
}

// zipNames returns the original names of the members of a zip in archive order: from the Unicode path field (APPNOTE 6.3.10, 4.6.9), by
// the UTF-8 flag, as UTF-8 if that is valid, and otherwise in the code page that best fits all the remaining names together. Bytes
// undefined there are kept.
func zipNames(files []*zip.File) []string {
	names := make([]string, len(files))
	var open []int
	var joined []byte
	for i, f := range files {
		names[i] = f.Name
		if name, ok := unicodePath(f); ok {
			names[i] = name
			continue
		}
		if isASCII([]byte(f.Name)) || f.Flags&0x800 != 0 && utf8.ValidString(f.Name) || surelyUTF8(f.Name) {
			continue
		}
		open = append(open, i)
		if len(joined) < detectWindow {
			joined = append(append(joined, f.Name...), '/') // not a trail byte of any page
		}
	}
	if len(open) == 0 || utf8.Valid(joined) {
		return names
	}
	page := zipPage(joined)
	for _, i := range open {
		if s, err := page.NewDecoder().String(names[i]); err == nil && !strings.ContainsRune(s, utf8.RuneError) {
			names[i] = s
		}
	}
	return names
}

// zipPage returns the code page that best fits names, which are separated by slashes.
func zipPage(names []byte) encoding.Encoding {
	pairs := bytePairs(names)
	var each []map[[2]byte]int
	for _, name := range bytes.Split(names, []byte("/")) {
		if one := bytePairs(append(name, '/')); len(one) > 0 && len(each) < maxNamesApart {
			each = append(each, one)
		}
	}
	var best encoding.Encoding = charmap.CodePage437
	least := -1.0
	for _, p := range zipPages {
		cost, ok := 0.0, true
		switch page := p.enc.(type) {
		case eightBit:
			cost, ok = readingCost(pairs, page)
			apart := otherLanguage * float64(len(each)-1) // people's names come from many languages
			for _, one := range each {
				c, fits := readingCost(one, page)
				apart += c
				ok = ok && fits
			}
			if len(each) < maxNamesApart {
				cost = min(cost, apart)
			}
		default:
			cost = p.wide.cost(names, p.enc)
		}
		if cost += p.odd; ok && (least < 0 || cost < least) {
			best, least = p.enc, cost
		}
	}
	return best
}

// Up to this number, names are also judged individually, which costs some bits per name, because each can be in a different language.
const (
	maxNamesApart = 20
	otherLanguage = 4.0
)

// surelyUTF8 reports whether a name is valid UTF-8 and would hardly be so by chance in any other code page.
func surelyUTF8(name string) bool {
	if !utf8.ValidString(name) {
		return false
	}
	wide := 0
	for _, r := range name {
		wide += max(0, utf8.RuneLen(r)-1)
	}
	return wide >= 3
}

// unicodePath returns the name in a member's Unicode path field, unless the name was changed after the field was written.
func unicodePath(f *zip.File) (string, bool) {
	for extra := f.Extra; len(extra) >= 4; {
		id, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; size > len(extra) {
			return "", false
		}
		field := extra[:size]
		extra = extra[size:]
		if id == 0x7075 && size > 5 && field[0] == 1 && binary.LittleEndian.Uint32(field[1:]) == crc32.ChecksumIEEE([]byte(f.Name)) &&
			utf8.Valid(field[5:]) {
			return string(field[5:]), true
		}
	}
	return "", false
}

// memberPaths returns unique paths of members. If two members have the same name, the second becomes for example "essay (2).txt".
type memberPaths struct{ taken map[string]bool }

// path makes a name from an archive safe to display; it is never used to open a file.
func (p *memberPaths) path(archive, name string) string {
	if p.taken == nil {
		p.taken = map[string]bool{}
	}
	whole := archive + "!" + concordat.EscapeName(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")))
	ending := path.Ext(whole)
	unique := whole
	for n := 2; p.taken[unique]; n++ {
		unique = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(whole, ending), n, ending)
	}
	p.taken[unique] = true
	return unique
}

// IsClutter reports whether a system rather than a person wrote a file, for example a word processor's lock file or a file that an
// operating system adds to folders.
func IsClutter(name string) bool {
	for _, part := range strings.Split(strings.ReplaceAll(name, `\`, "/"), "/") {
		switch strings.ToLower(part) {
		case "__macosx", ".ds_store", ".appledouble", ".spotlight-v100", ".trashes", ".fseventsd", ".temporaryitems", "icon\r", ".directory",
			"thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "system volume information", "@eadir":
			return true
		}
		if strings.HasPrefix(part, "._") || strings.HasPrefix(part, "~$") || strings.HasPrefix(part, ".~lock.") && strings.HasSuffix(part, "#") ||
			strings.HasPrefix(strings.ToLower(part), "~wr") && strings.HasSuffix(strings.ToLower(part), ".tmp") {
			return true
		}
	}
	return false
}
