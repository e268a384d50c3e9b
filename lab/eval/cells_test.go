package eval

import (
	"testing"

	"concordat/profile"
	"concordat/report"
)

// TestTranslation: a source in another language that shares no word with a submission is nominated by its cells and yields a lead to the
// corresponding place; in a library without cells, it is not nominated.
func TestTranslation(t *testing.T) {
	library := []Doc{{"glass", "玻璃工匠行会因为官员害怕火灾，于一四一一年把熔炉迁到了岛上。每个学徒都在监督面前发誓，绝不把红色玻璃的配方带过潟湖。" +
		"违背誓言的人失去作坊，他的亲属被关押，直到他回家为止。尽管采取了这些措施，两位师傅还是定居在洛林，十年之内向宫廷出售红色玻璃酒杯。"},
		{"railway", "铁路很晚才到达这个山谷，有一代人的时间，工厂不得不用骡子把布匹运过两个山口。铁路开通时，织布车间的工资上涨了三分之一，" +
			"而面包的价格几乎没有变化。农民在铁路旁种植甜菜，新工厂每年秋天用现金支付。到世纪之交，山谷里有三家银行和一所女子学校。"}}
	asked := Doc{"essay", "The guild of glass workers moved its furnaces to the island in 1411, because the officials were afraid of fire. " +
		"Every apprentice swore before the supervisor never to take the recipe of the red glass across the lagoon. " +
		"Whoever broke the oath lost his workshop, and his relatives were imprisoned until he came home. " +
		"Despite these measures two masters settled in Lorraine, and within ten years sold goblets of red glass to the court."}
	for _, meaning := range []bool{true, false} {
		b, err := newBench(t.Context(), t.TempDir(), profile.Options{Meaning: meaning})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add(t.Context(), library); err != nil {
			t.Fatal(err)
		}
		rep, err := (&run{ctx: t.Context()}).leadsOf(b, asked, observing{})
		if err != nil {
			t.Fatal(err)
		}
		if !meaning {
			if len(rep.Leads) > 0 {
				t.Errorf("without cells: %+v", rep.Leads)
			}
		} else if len(rep.Leads) != 1 || rep.Leads[0].Source.Document != "glass" || rep.Leads[0].Kind != report.LeadTranslation {
			t.Errorf("leads %+v", rep.Leads)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
