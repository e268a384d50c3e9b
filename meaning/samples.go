package meaning

import (
	"math"
	"slices"
)

// Sample is a sentence that belongs to no comparison. Samples show how similar an encoder considers unrelated sentences, and how good it
// is.
type Sample struct {
	Subject  int // samples on one subject have the same meaning
	Language string
	Text     string
}

// Samples returns the samples ordered by subject.
func Samples() []Sample { return slices.Clone(sampleSet) }

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// sampleSet was written for this purpose.
var sampleSet = samplesOf([][4]string{
	{"The harbour was closed for three weeks because ice had blocked the channel.",
		"Since the fairway was frozen over, no ship could enter the port for twenty-one days.",
		"由于航道被冰封住，港口关闭了三个星期。", "Der Hafen war drei Wochen lang gesperrt, weil Eis die Fahrrinne blockierte."},
	{"Children who read every evening learn new words faster than those who do not.",
		"Vocabulary grows more quickly in pupils for whom daily reading is a habit.",
		"每天晚上阅读的孩子比不阅读的孩子学新词更快。", "Kinder, die jeden Abend lesen, lernen neue Wörter schneller als andere."},
	{"The committee refused the budget since the costs of the bridge had doubled.",
		"As the price of the crossing was now twice as high, the members rejected the financial plan.",
		"因为桥梁的费用翻了一番，委员会否决了预算。", "Der Ausschuss lehnte den Haushalt ab, da sich die Kosten der Brücke verdoppelt hatten."},
	{"Wolves returned to the valley after an absence of more than a century.",
		"For the first time in over a hundred years, packs of the predator live in these hills again.",
		"消失了一个多世纪之后，狼又回到了这个山谷。", "Nach mehr als hundert Jahren kehrten Wölfe in das Tal zurück."},
	{"Most of the patients felt better within two days of taking the new drug.",
		"Forty-eight hours after the medicine was given, the majority reported fewer complaints.",
		"大多数病人在服用新药两天内感觉好转。", "Die meisten Patienten fühlten sich innerhalb von zwei Tagen nach der Einnahme des neuen Mittels besser."},
	{"A drop in oil prices made air travel cheaper during the summer.",
		"Flights cost less in July and August, as fuel had become less expensive.",
		"油价下跌使夏季的航空旅行更加便宜。", "Der Rückgang der Ölpreise verbilligte im Sommer das Fliegen."},
	{"The painter destroyed his early works because he was ashamed of them.",
		"Out of embarrassment, the artist burned what he had made in his youth.",
		"这位画家因为羞愧而毁掉了自己的早期作品。", "Der Maler vernichtete seine frühen Werke, weil er sich für sie schämte."},
	{"Clay soils hold water for longer, so that roots rot in wet winters.",
		"In rainy cold seasons plants decay below ground where heavy earth does not drain.",
		"黏土保水时间更长，因此在潮湿的冬天根会腐烂。", "Lehmböden halten Wasser länger, sodass Wurzeln in nassen Wintern faulen."},
	{"Voters under thirty were less likely to take part in the election than their parents.",
		"Turnout at the polls was lower among the young than in the older generation.",
		"三十岁以下的选民比他们的父母更少参加选举。", "Wähler unter dreißig beteiligten sich seltener an der Wahl als ihre Eltern."},
	{"The engine stopped because dust had clogged the filter of its air supply.",
		"Blocked by dirt, the intake let too little oxygen through, and the motor failed.",
		"发动机停了下来，因为灰尘堵住了空气滤清器。", "Der Motor blieb stehen, weil Staub den Luftfilter verstopft hatte."},
	{"Under the old law, a widow could not inherit the land of her husband.",
		"Formerly, a woman whose spouse had died had no legal claim to his fields.",
		"根据旧法律，寡妇不能继承丈夫的土地。", "Nach dem alten Recht konnte eine Witwe das Land ihres Mannes nicht erben."},
	{"The orchestra rehearsed the symphony for a month before the first concert.",
		"Four weeks of practice came before the musicians performed the piece in public.",
		"乐团在首场音乐会之前排练了一个月的交响曲。", "Das Orchester probte die Sinfonie einen Monat lang vor dem ersten Konzert."},
	{"Bees cannot find flowers easily when the air is full of exhaust fumes.",
		"Traffic pollution hides the scent of blossoms from pollinating insects.",
		"当空气中充满废气时，蜜蜂不容易找到花朵。", "Bienen finden Blüten nur schwer, wenn die Luft voller Abgase ist."},
	{"The password was written on a note under the keyboard of the secretary.",
		"Anyone who lifted the typist's keys could read the secret word on a slip of paper.",
		"密码写在秘书键盘下面的一张纸条上。", "Das Kennwort stand auf einem Zettel unter der Tastatur der Sekretärin."},
	{"In the mountains, the temperature falls by about six degrees for every kilometre of height.",
		"Each thousand metres that one climbs, it gets roughly six degrees colder.",
		"在山区，海拔每升高一公里，气温大约下降六度。", "Im Gebirge sinkt die Temperatur je Kilometer Höhe um etwa sechs Grad."},
	{"The factory dismissed half of its workers when orders from abroad stopped.",
		"As foreign customers no longer bought anything, every second employee of the plant lost his job.",
		"国外订单停止后，工厂解雇了一半工人。", "Die Fabrik entließ die Hälfte ihrer Arbeiter, als die Aufträge aus dem Ausland ausblieben."},
	{"He learned to swim at the age of sixty so that he could play with his grandchildren.",
		"To be able to join the kids of his daughter in the pool, the old man took lessons.",
		"他六十岁时学会了游泳，以便和孙辈一起玩。", "Mit sechzig lernte er schwimmen, um mit seinen Enkeln spielen zu können."},
	{"The trial was postponed because the main witness had disappeared.",
		"Since nobody knew where the most important person to testify was, the court set a later date.",
		"由于主要证人失踪，审判被推迟了。", "Der Prozess wurde verschoben, weil der Hauptzeuge verschwunden war."},
	{"Early maps of the island show a lake that no traveller has ever found.",
		"A body of water drawn by the first cartographers has never been seen by a visitor.",
		"这座岛的早期地图上有一个从未有旅行者找到过的湖。", "Frühe Karten der Insel zeigen einen See, den nie ein Reisender gefunden hat."},
	{"The bakery gives unsold bread to a shelter for the homeless every night.",
		"What customers leave on the shelves is donated daily to people without a roof.",
		"面包店每晚都把没卖完的面包送给无家可归者收容所。", "Die Bäckerei gibt jeden Abend unverkauftes Brot an eine Unterkunft für Obdachlose."},
})

func samplesOf(rows [][4]string) (out []Sample) {
	for k, row := range rows {
		for i, language := range [4]string{"en", "en", "zh", "de"} {
			out = append(out, Sample{k, language, row[i]})
		}
	}
	return out
}

// Worth is how often a sample's counterpart is the nearest of all samples in its language, by an encoder's vectors.
type Worth struct {
	Languages    [2]string
	Right, Asked int
}

// WorthOf computes the Worth of the vectors of Samples for reworded English, and for English with each other language.
func WorthOf(vectors [][]float32) []Worth {
	byLanguage := map[string][][]float32{}
	for k, s := range sampleSet {
		byLanguage[s.Language] = append(byLanguage[s.Language], vectors[k])
	}
	centred := make([][]float32, len(vectors))
	for k, s := range sampleSet {
		centred[k] = without(vectors[k], meanOf(byLanguage[s.Language]))
	}
	var out []Worth
	for other := 1; other < 4; other++ {
		w := Worth{Languages: [2]string{"en", sampleSet[other].Language}}
		for k := 0; k < len(sampleSet); k += 4 {
			best := other
			for j := other; j < len(sampleSet); j += 4 {
				if dot(centred[k], centred[j]) > dot(centred[k], centred[best]) {
					best = j
				}
			}
			w.Asked++
			if best == k+other {
				w.Right++
			}
		}
		out = append(out, w)
	}
	return out
}
