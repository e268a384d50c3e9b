package batch_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"concordat/internal/sitetest"
	"concordat/site/batch"
)

// declared contains, by language, a declaration as students of different universities word it, with NAME for the name, and a paragraph of
// an author's own. No declaration occurs word for word in the stock of public wording.
var declared = map[string]struct{ declaration, paragraph string }{
	"French": {
		`Je soussigné NAME, étudiant en master, certifie sur l'honneur que le présent mémoire est le résultat de mon travail personnel et que
toutes les sources consultées y sont citées. Je n'ai eu recours ni au plagiat ni à l'aide d'un tiers pour sa rédaction. Je sais que mon
mémoire peut être soumis à un logiciel de détection de similitudes et que toute fausse déclaration m'expose aux sanctions disciplinaires
prévues par le règlement de l'université.`,
		`Les sources de la rivière furent relevées à pied pendant trois étés, et le règlement du moulin fut recopié par le fils du meunier, qui
ne savait écrire que depuis l'hiver. Le travail avançait lentement parce que la crue emportait les repères, et personne au village ne
voulait déclarer combien de sacs passaient le pont sans payer. Le carnet qui en reste, taché de suie, donne pourtant la hauteur de l'eau
pour chaque matin où la roue tournait.`,
	},
	"Spanish": {
		`Yo, NAME, alumna del máster, declaro bajo mi responsabilidad que este trabajo es original y de mi propia autoría, que no ha sido
presentado anteriormente en otra institución y que todas las fuentes utilizadas han sido debidamente citadas en el texto y en la
bibliografía. Soy consciente de que el plagio constituye una falta grave y acepto que mi trabajo sea analizado por un sistema de detección
de coincidencias, conforme a la normativa de la universidad.`,
		`Las fuentes del río se midieron a pie durante tres veranos, y la norma del molino la copió el hijo del molinero, que había aprendido a
escribir aquel invierno. El trabajo iba despacio porque la crecida se llevaba las señales, y nadie en la aldea quería declarar cuántos
sacos pasaban el puente sin pagar. El cuaderno que queda, manchado de hollín, da sin embargo la altura del agua de cada mañana en que giró
la rueda.`,
	},
	"Portuguese": {
		`Eu, NAME, declaro por minha honra que esta dissertação é da minha autoria e resulta do meu trabalho, que não foi apresentada noutra
instituição para obtenção de qualquer grau académico e que todas as fontes consultadas estão devidamente citadas no texto e na
bibliografia. Tenho consciência de que o plágio é uma grave falta ética e disciplinar e autorizo que a minha dissertação seja submetida a
um programa de deteção de semelhanças.`,
		`As nascentes do rio foram medidas a pé durante três verões, e a regra do moinho foi copiada pelo filho do moleiro, que só naquele
inverno aprendera a escrever. O trabalho andava devagar porque a cheia levava as marcas, e ninguém na aldeia queria declarar quantos sacos
passavam a ponte sem pagar. O caderno que resta, manchado de fuligem, dá porém a altura da água de cada manhã em que a roda girou.`,
	},
	"Polish": {
		`Ja, niżej podpisana NAME, oświadczam, że niniejszą pracę magisterską napisałam samodzielnie i nie korzystałam z pomocy innych osób.
Wszystkie wykorzystane źródła zostały podane w bibliografii, a praca nie narusza praw autorskich osób trzecich. Wersja elektroniczna jest
identyczna z wersją drukowaną. Przyjmuję do wiadomości, że praca zostanie sprawdzona w systemie antyplagiatowym, a w przypadku
stwierdzenia plagiatu wszczyna się postępowanie dyscyplinarne.`,
		`Źródła rzeki mierzono pieszo przez trzy lata, a regulamin młyna przepisał syn młynarza, który dopiero tej zimy nauczył się pisać. Praca
szła powoli, bo powódź zabierała znaki, i nikt we wsi nie chciał oświadczyć, ile worków przechodzi przez most bez opłaty. Zeszyt, który po
niej został, poplamiony sadzą, podaje jednak wysokość wody z każdego ranka, kiedy obracało się koło, i imiona tych, którzy ją mierzyli.`,
	},
	"Italian": {
		`Il sottoscritto NAME, iscritto al corso di laurea magistrale, dichiara sotto la propria responsabilità che la presente tesi è frutto del
proprio lavoro e che tutte le fonti utilizzate sono state correttamente citate nel testo e in bibliografia. Dichiara inoltre che la tesi
non è stata presentata, in tutto o in parte, presso altre università e di essere consapevole che il plagio costituisce una grave
violazione del codice etico e può comportare sanzioni disciplinari.`,
		`Le fonti del fiume furono misurate a piedi per tre estati, e il regolamento del mulino lo copiò il figlio del mugnaio, che aveva
imparato a scrivere solo quell'inverno. Il lavoro andava piano perché la piena portava via i segni, e nessuno in paese voleva dichiarare
quanti sacchi passassero il ponte senza pagare. Il quaderno che ne resta, macchiato di fuliggine, dà però l'altezza dell'acqua di ogni
mattina in cui la ruota girò.`,
	},
	"Dutch": {
		`Hierbij verklaar ik, NAME, dat deze scriptie mijn eigen werk is en dat ik geen andere bronnen en hulpmiddelen heb gebruikt dan de
vermelde. Alle passages die letterlijk of geparafraseerd zijn overgenomen uit het werk van anderen, zijn als zodanig aangegeven. Deze
scriptie is niet eerder ingediend bij een andere opleiding. Ik ga ermee akkoord dat mijn werk met plagiaatsoftware wordt gecontroleerd en
ben mij ervan bewust dat plagiaat als fraude wordt beschouwd.`,
		`De bronnen van de rivier werden drie zomers lang te voet gemeten, en het reglement van de molen werd overgeschreven door de zoon van de
molenaar, die pas die winter had leren schrijven. Het werk vorderde langzaam omdat het hoge water de merken meenam, en niemand in het dorp
wilde verklaren hoeveel zakken zonder te betalen over de brug gingen. Het schrift dat ervan over is, vol roetvlekken, geeft toch de
waterstand van elke ochtend waarop het rad draaide.`,
	},
	"Russian": {
		`Я, NAME, студентка магистратуры, настоящим подтверждаю, что представленная выпускная квалификационная работа выполнена мной
самостоятельно, не содержит элементов плагиата и ранее не представлялась к защите. Все заимствования из печатных и электронных источников
имеют соответствующие ссылки. Мне известно, что обнаружение плагиата является основанием для недопуска работы к защите и применения мер
дисциплинарного взыскания, и я даю согласие на проверку работы в системе «Антиплагиат».`,
		`Источники реки три лета подряд измеряли пешком, а устав мельницы переписал сын мельника, который только той зимой научился писать.
Работа шла медленно, потому что паводок уносил метки, и никто в деревне не хотел заявить, сколько мешков проходит по мосту без платы.
Тетрадь, которая от неё осталась, вся в саже, всё же даёт высоту воды для каждого утра, когда вертелось колесо, и имена тех, кто её
отмечал.`,
	},
}

// TestDeclarations: two documents that share only a declaration are not a pair at any share, and nothing is left to decide. With a shared
// paragraph of the same length after the declaration they are a pair, and only the paragraph counts, even without a line break before it.
func TestDeclarations(t *testing.T) {
	for language, x := range declared {
		document := func(seed uint64, name, shared string) string {
			return sitetest.Prose(seed, 6) + "\n\n" + strings.ReplaceAll(shared, "NAME", name) + "\n\n" + sitetest.Prose(seed+1, 6)
		}
		run := func(a, b string) (*batch.View, []batch.WordingLine) {
			bt := sitetest.NewBatch(t, sitetest.NewSite(t), map[string]string{"a.txt": a, "b.txt": b, "c.txt": sitetest.Prose(50, 12)},
				[]string{"a.txt", "b.txt", "c.txt"}, batch.Job{NoLibraries: true, Threshold: 0.01})
			v := bt.Run(t)
			lines, err := batch.WordingLines(t.Context(), bt.Site, v)
			if err != nil {
				t.Fatal(err)
			}
			return v, lines
		}
		v, lines := run(document(10, "A. Ferri", x.declaration), document(20, "Bo Lund", x.declaration))
		if got := v.PairLines(); len(got) > 0 || slices.ContainsFunc(lines, func(l batch.WordingLine) bool { return l.Decide || l.Counted }) {
			t.Errorf("%s: documents that share only a declaration are pairs %+v, with wording %+v", language, got, lines)
		}
		for _, between := range []string{"\n\n", " "} {
			shared := x.declaration + between + x.paragraph
			a := document(30, "C. Marsh", shared)
			v, _ = run(a, document(40, "Dana Roe", shared))
			got := v.PairLines()
			if len(got) != 1 || !got[0].Counted {
				t.Errorf("%s: documents that share a paragraph are pairs %+v, want one that counts", language, got)
				continue
			}
			most := float64(letterCount(x.paragraph)) / float64(letterCount(a)-letterCount(x.declaration))
			if got[0].ShareA < 0.9*most || got[0].ShareA > 1.03*most {
				t.Errorf("%s: share %.3f, want the paragraph's %.3f", language, got[0].ShareA, most)
			}
		}
	}
}

func letterCount(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
