package extract_test

import (
	"os"
	"strings"
	"testing"

	"concordat/extract"
	"concordat/segment/spaced"
)

// flagsOf returns how often each code is raised for plain text.
func flagsOf(t *testing.T, text string) map[string]int {
	t.Helper()
	r, err := extract.Bytes("a.txt", []byte(text), extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, f := range r.Flags {
		if f.End > len(r.Text) || f.Start > f.End {
			t.Fatalf("flag %+v outside the text of %d bytes", f, len(r.Text))
		}
		n[f.Code] += f.Count
	}
	return n
}

func TestManipulationIsFlagged(t *testing.T) {
	english := "The quick brown fox jumps over the lazy dog and runs away from the cold river. "
	the := "It was said that the owner of the house and of the land was known to the people of this town. "
	for _, c := range []struct {
		name, text, code string
		count            int
	}{
		{"cyrillic in english", english + "A сopied sentеnce.", extract.FlagLookAlike, 2},
		{"whole word", strings.Repeat(english, 3) + "The sеа and the соре.", extract.FlagLookAlike, 2},
		{"latin in russian", "Сoбака и кошка жили долго и счастливо в доме у моря", extract.FlagLookAlike, 1},
		{"zero width", english + "pla\u200bgia\u200brism", extract.FlagZeroWidth, 2},
		{"tags", english + "pla\U000e0041gia", extract.FlagZeroWidth, 1},
		{"hangul", "항구 사\u200b무소는 작은 섬의 조수\u3164표를 계산하였다", extract.FlagZeroWidth, 2},
		{"thai", "สำนัก\u2060งานท่า\u200cเรือ", extract.FlagZeroWidth, 2},
		{"chinese", "港务\u200b处每年春天重新\u2060计算潮汐表", extract.FlagZeroWidth, 2},
		{"japanese", "灯台守の\u200b娘は数字\u00adを書き写した", extract.FlagZeroWidth, 2},
		{"selectors", english + "th\ufe0fe fo\U000e0101x", extract.FlagZeroWidth, 2},
		{"circled", english + "ⓣⓗⓔ ⓠⓤⓘⓒⓚ fox", extract.FlagLookAlike, 2},
		{"boxed", english + "🅃🄷🄴 🅠🅤🅘🅒🅚 🅵🅾🆇", extract.FlagLookAlike, 3},
		{"small capitals", english + "ᴛʜᴇ ǫᴜɪᴄᴋ ʙʀᴏᴡɴ fox", extract.FlagLookAlike, 2},
		{"cherokee", english + "thᎬ quᎥck fox", extract.FlagLookAlike, 2},
		{"lisu", english + "ꓳne ꓑlay", extract.FlagLookAlike, 2},
		{"katakana in chinese", "人ロ普查二十カ年，工作ニ十年，门ロ有人。出ロ货物。", extract.FlagLookAlike, 5},
		{"chinese in katakana", "コン卜ロールとエレべーターとアイコ二ックなメ力ニズム、ス夕ート", extract.FlagLookAlike, 4},
		{"struck through", english + "t̶h̶e̶ q̶u̶i̶c̶k̶ fox", extract.FlagMarks, 2},
		{"stacked", english + "t̂̃́ĥ̃́ễ́ fox", extract.FlagMarks, 1},
		{"marks on hangul", "항\u0332구 사\u0332무소는 작은 섬", extract.FlagMarks, 2},
		{"thin blanks in words", strings.Repeat("The qu\u200aick brown f\u200aox jumps ov\u200aer. ", 2), extract.FlagSpaced, 6},
		{"override", english + "\u202egnihtemos\u202c", extract.FlagBidi, 1},
		{"spaced word", english + "It is p l a g i a r i s m to copy.", extract.FlagSpaced, 1},
		{"spaced cyrillic", "к о м и т е т  у с т а н о в и л  ч т о  к у п ц ы", extract.FlagSpaced, 1},
		{"spaced greek, thin", "η\u2009ε\u2009π\u2009ι\u2009τ\u2009ρ\u2009ο\u2009π\u2009ή δ\u2009ι\u2009α\u2009π\u2009ί\u2009σ\u2009τ\u2009ω\u2009σ\u2009ε ό\u2009τ\u2009ι ο\u2009ι έ\u2009μ\u2009π\u2009ο\u2009ρ\u2009ο\u2009ι", extract.FlagSpaced, 1},
		{"spaced", "t h i s s e n t e n c e i s n o t r e a d a b l e b y m a c h i n e s t h a t l o o k f o r w o r d s",
			extract.FlagSpaced, 1},
		{"quotes of Japanese", "「" + strings.Repeat(english, 6) + "」", extract.FlagQuoted, 1},
		{"quotes of French", strings.Repeat(the, 4) + "«" + strings.Repeat(the, 6) + "»", extract.FlagQuoted, 1},
		{"quotes", "❝" + strings.Repeat(english, 6) + "❞", extract.FlagQuoted, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := flagsOf(t, c.text)[c.code]; got != c.count {
				t.Errorf("%s raised %d times, want %d", c.code, got, c.count)
			}
		})
	}
}

// TestLettersThatLie permutes the letters of English text, as a font with a false mapping does.
func TestLettersThatLie(t *testing.T) {
	english := strings.Repeat("the people of this country have decided that every person should be free to speak and to write what they believe without fear ", 12)
	if n := flagsOf(t, english)[extract.FlagGlyphs]; n != 0 {
		t.Errorf("English raises %d flags", n)
	}
	caught := 0
	for shift := rune(1); shift < 26; shift++ {
		lie := strings.Map(func(r rune) rune {
			if r == ' ' {
				return r
			}
			return 'a' + (r-'a'+shift)%26
		}, english)
		caught += flagsOf(t, lie)[extract.FlagGlyphs]
	}
	t.Logf("%d of 25 permutations flagged", caught)
	if caught < 15 {
		t.Errorf("%d of 25 permutations flagged, want most", caught)
	}
	if n := flagsOf(t, strings.Repeat("\ue001\ue002 word ", 50))[extract.FlagGlyphs]; n == 0 {
		t.Error("private characters raise no flag")
	}
}

func TestHonestTextIsNotFlagged(t *testing.T) {
	for _, s := range []string{
		"Пусть всегда будет солнце, пусть всегда будет небо, пусть всегда будет мама.",
		"Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
		"كل الناس يولدون أحرارا ومتساوين\u200f (ABC) في الكرامة\u200c والحقوق.",
		"「" + strings.Repeat("人人生而自由，在尊严和权利上一律平等。", 20) + "」",
		"«" + strings.Repeat("Tous les êtres humains naissent libres et égaux en dignité et en droits. ", 8) + "»",
		"„" + strings.Repeat("Alle Menschen sind frei und gleich an Würde und Rechten geboren. ", 8) + "“",
		"کتاب\u200cها و می\u200cخواهم",
		"כל בני אדם נולדו בני חורין ושווים\u200e 12 בערכם ובזכויותיהם.",
		"For all α, β in Γ we have maxαi ≤ Δt and f(λx) = μ(σ) with ρAB and λ-calculus; x y z a b c.",
		"ការិយាល័យ\u200bកំពង់ផែ\u200bបាន\u200bគណនា", "ສຳນັກ\u200bງານ\u200bທ່າເຮືອ", "ဆိပ်ကမ်း\u200bရုံး", "สำนัก\u200bงาน\u200bท่าเรือ",
		"葛\U000e0100城市と辻\U000e0101さん、対ロ政策、二次元、カ国",
		"Ẹ̀kọ́ ni ọ̀nà àti ìmọ̀ fún gbogbo ọmọ ènìyàn; за́мок и замо́к; [ˈstɹ̥ɛ̃ŋ̊k̚θ] m̥ n̥ r̥; Ngữ pháp tiếng Việt",
		"[ˈhɪʀɪɴ ʙʟ] and a vector F⃗, x̄ and ẏ; 5\u202fkm, z.\u202fB., J.\u202fK.",
		"ᄒ\u1160ᆫ 옛말", "Ⓒ 2020, note ⓐ and ⓑ, 🅰 type, 🇫🇷🇩🇪",
		"क्षत्रिय र्\u200dय और \u200cजानकारी",
		"The family 👨\u200d👩\u200d👧 emoji, naïve café Straße, “a long quotation” and soft\u00adhyphen.",
		"Годнасцi ўсiх людзей i мiр у свеце",
		"ANNA B C D E F G H I J K L M N",
		"Section A B C D e f g h i j k l m n o p q r s t u v w x y z",
	} {
		if n := flagsOf(t, s); len(n) > 0 {
			t.Errorf("%.40q raises %v", s, n)
		}
	}
}

// TestFalseAlarms counts the files of real prose that raise a flag of manipulation. It reads one file in four of the large set unless
// CONCORDAT_LONG is set. The skipped files of udhr really mix letters of two alphabets, because they were typed like that.
func TestFalseAlarms(t *testing.T) {
	mixed := map[string]bool{"Aymara-Latin1": true, "Bulgarian_Balgarski-UTF8": true, "Purhepecha-UTF8": true, "Serbian_Srpski-UTF8": true,
		"Ukrainian-UTF8":            true,
		"Tigrinya_Tigrigna-VG2Main": true /* Ethiopic drawn by a font over Latin letters */}
	for _, set := range []string{"udhr", "academic", "latex-hott"} {
		t.Run(set, func(t *testing.T) {
			all, alarms, joins := 0, 0, 0
			list := extract.ListFiles(t, extract.CorpusDir(t, set))
			step := 1
			if os.Getenv("CONCORDAT_LONG") == "" && len(list) > 1000 {
				step = 4
			}
			for i := 0; i < len(list); i += step {
				p := list[i]
				name := p[strings.LastIndexByte(p, '/')+1:]
				data, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				r, err := extract.Bytes(p, data, extract.Options{})
				if err != nil {
					continue
				}
				all++
				for _, run := range spaced.Find(r.Text) {
					t.Logf("%s: joined for matching: %q", name, run.Joined)
					joins++
				}
				if mixed[name] {
					continue
				}
				alarmed := 0
				for _, f := range r.Flags {
					switch f.Code {
					case extract.FlagLookAlike, extract.FlagZeroWidth, extract.FlagBidi, extract.FlagSpaced, extract.FlagQuoted, extract.FlagGlyphs:
						t.Logf("%s: %+v", name, f)
						alarmed = 1
					}
				}
				alarms += alarmed
			}
			t.Logf("alarms in %d of %d files, %d runs of letters joined for matching", alarms, all, joins)
			if alarms*500 > all {
				t.Errorf("false alarms in %d of %d files", alarms, all)
			}
		})
	}
}
