package align

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"concordat"
)

// inScripts contains texts in scripts whose runs are compared character by character.
var inScripts = map[string]string{
	"ko": "항구 사무소는 매년 봄 작은 섬의 조수표를 새로 계산하여 어부들에게 나누어 주었다. 등대지기의 딸은 그 숫자를 공책에 옮겨 적고, 달이 뜨는 시각과 바람의 방향을 함께 기록하였다. 몇 년 뒤 이 공책은 바다의 높이를 연구하는 사람들에게 귀중한 자료가 되었다.",
	"ja": "港の事務所は毎年の春、小さな島の潮の表を計算しなおして漁師たちにくばった。灯台守の娘はその数字をノートに書き写し、月の出る時刻と風の向きもいっしょに記録した。のちにこのノートは海の高さを調べる人々の大切な資料となった。",
	"th": "สำนักงานท่าเรือคำนวณตารางน้ำขึ้นน้ำลงของเกาะเล็กทุกฤดูใบไม้ผลิแล้วแจกให้ชาวประมง ลูกสาวของคนเฝ้าประภาคารคัดลอกตัวเลขลงในสมุดและจดเวลาพระจันทร์ขึ้นกับทิศทางลมไว้ด้วย หลายปีต่อมาสมุดเล่มนี้เป็นข้อมูลสำคัญของผู้ศึกษาระดับน้ำทะเล",
	"lo": "ຫ້ອງການທ່າເຮືອຄິດໄລ່ຕາຕະລາງນ້ຳຂຶ້ນນ້ຳລົງຂອງເກາະນ້ອຍທຸກປີແລ້ວແຈກໃຫ້ຊາວປະມົງ ລູກສາວຂອງຄົນເຝົ້າເຮືອນໄຟຄັດລອກຕົວເລກລົງໃນປຶ້ມແລະຈົດເວລາດວງເດືອນຂຶ້ນກັບທິດທາງລົມໄວ້ນຳ",
	"km": "ការិយាល័យកំពង់ផែបានគណនាតារាងជំនោរនៃកោះតូចរៀងរាល់ឆ្នាំហើយចែកជូនអ្នកនេសាទ កូនស្រីរបស់អ្នកយាមប៉មភ្លើងបានចម្លងលេខទាំងនោះទៅក្នុងសៀវភៅហើយកត់ត្រាម៉ោងព្រះចន្ទរះនិងទិសខ្យល់",
	"my": "ဆိပ်ကမ်းရုံးသည်နှစ်စဉ်ကျွန်းငယ်၏ဒီရေဇယားကိုတွက်ချက်ပြီးတံငါသည်များအားဝေငှသည် မီးပြတိုက်စောင့်၏သမီးသည်ဂဏန်းများကိုစာအုပ်ထဲသို့ကူးယူပြီးလထွက်ချိန်နှင့်လေတိုက်ရာအရပ်ကိုမှတ်တမ်းတင်သည်",
	"zh": "港务处每年春天重新计算小岛的潮汐表，分发给渔民。守灯塔人的女儿把数字抄在本子上，还记下月亮升起的时刻和风的方向。多年以后，这本册子成了研究海面高度的人们珍贵的资料。",
	"en": "The harbour office worked out the tide tables of the small island every spring and handed them to the fishermen. The daughter of the lighthouse keeper copied the figures into her notebook and wrote down when the moon rose.",
}

// amid returns a function that inserts what after every n letters.
func amid(n int, what string) func(string) string {
	return func(s string) string {
		var b strings.Builder
		letters := 0
		for _, r := range s {
			if unicode.IsLetter(r) {
				if letters++; letters%n == 0 {
					b.WriteString(what)
				}
			}
			b.WriteRune(r)
		}
		return b.String()
	}
}

// TestFoldedScripts: in every script, a text whose letters fold to its source's letters matches the source word for word, and each
// matching word is located at its letters.
func TestFoldedScripts(t *testing.T) {
	circled := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return 'ⓐ' + r - 'a'
			}
			return r
		}, s)
	}
	changes := map[string]func(string) string{
		"decomposed": norm.NFD.String, "compatibly decomposed": norm.NFKD.String, "circled": circled,
		"zero-width space": amid(3, "\u200b"), "word joiner": amid(4, "\u2060"), "soft hyphen": amid(5, "\u00ad"),
		"hangul filler": amid(4, "\u3164"), "variation selector": amid(2, "\ufe0f"), "grapheme joiner": amid(1, "\u034f"),
		"zero-width joiners": amid(4, "\u200d\u200c"), "tag": amid(4, "\U000e0041"),
	}
	for script, source := range inScripts {
		for name, change := range changes {
			t.Run(script+"/"+name, func(t *testing.T) {
				text := change(source)
				passages := Pair(Prepare(text), Prepare(source), Options{})
				if len(passages) != 1 || passages[0].Kind != concordat.KindVerbatim {
					t.Fatalf("got %+v, want one verbatim passage", passages)
				}
				p := passages[0]
				if n := p.A.End - p.A.Start; n*100 < len(text)*98 {
					t.Errorf("the passage covers %d of %d bytes", n, len(text))
				}
				for _, w := range p.Words {
					got, want := text[w.Span.Start:w.Span.End], source[w.Source.Start:w.Source.End]
					if got, want := seen(got), seen(want); got != want {
						t.Fatalf("%q stands beside %q", got, want)
					}
				}
			})
		}
	}
}

// seen resolves the compatibility forms of s and removes invisible characters, signs and blanks.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u3164' || r == '\u1160' || unicode.Is(unicode.Variation_Selector, r) || r == '\u034f' ||
			!unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(s))
}
