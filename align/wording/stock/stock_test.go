package stock_test

import (
	"strings"
	"testing"

	"concordat/align/wording/stock"
)

// others contains declarations, licences and notices whose wording is not in the stock; own is prose with the same words.
var (
	others = []string{
		"I hereby declare that I have written this dissertation on my own and that I have not used any sources or aids other than those listed.",
		"Hiermit erkläre ich, dass ich die vorliegende Masterarbeit selbstständig verfasst und keine anderen als die angegebenen Quellen und Hilfsmittel benutzt habe.",
		"本人郑重声明：所呈交的学位论文，是本人在导师的指导下，独立进行研究工作所取得的成果。",
		"Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files.",
		"No part of this book may be reproduced, stored in a retrieval system, or transmitted, in any form or by any means, without permission.",
		"Esta obra está bajo una licencia Atribución 3.0 No portada, y también bajo una licencia Atribución-CompartirIgual 3.0 No portada.",
		"Quest'opera è distribuita con licenza Attribuzione 3.0 Italia e con licenza Attribuzione - Condividi allo stesso modo 3.0 Italia.",
		"Na ten utwór udzielona jest licencja Uznanie autorstwa 3.0 Polska (CC BY 3.0 PL) i udzielona jest licencja CC BY-SA 3.0 PL.",
		"Categorical variables were compared using the chi-square test or Fisher's exact test, and data are presented as median and interquartile range.",
		"The study was approved by the ethics committee of the hospital and written informed consent was obtained from all participants.",
		"Votre participation à cette enquête est entièrement volontaire et vous pouvez retirer votre consentement à tout moment, sans avoir à " +
			"vous justifier. Les données recueillies seront traitées de manière confidentielle et vous disposez d'un droit d'accès, de " +
			"rectification et d'effacement des données qui vous concernent.",
		"Autorizo el tratamiento de mis datos personales para los fines de este estudio, de acuerdo con el Reglamento General de Protección " +
			"de Datos. Entiendo que mi participación es voluntaria y que puedo retirar mi consentimiento en cualquier momento sin dar explicaciones.",
		"Autorizo o tratamento dos meus dados pessoais no âmbito deste estudo, nos termos do Regulamento Geral sobre a Proteção de Dados. " +
			"Compreendo que a minha participação é livre e voluntária e que posso retirar o meu consentimento a qualquer momento, sem qualquer prejuízo.",
		"Wyrażam zgodę na przetwarzanie moich danych osobowych w celu realizacji badania, zgodnie z ogólnym rozporządzeniem o ochronie danych. " +
			"Wiem, że mój udział jest dobrowolny i że mogę w każdej chwili wycofać zgodę bez podawania przyczyny.",
		"Presto il consenso al trattamento dei miei dati personali per le finalità della ricerca, in conformità al Regolamento (UE) 2016/679. " +
			"Sono consapevole che la partecipazione è volontaria e che posso ritirare il consenso in qualsiasi momento senza alcuna conseguenza.",
		"Ik geef toestemming voor de verwerking van mijn persoonsgegevens in het kader van dit onderzoek. Ik weet dat deelname vrijwillig is, " +
			"dat mijn gegevens vertrouwelijk worden behandeld en dat ik mijn toestemming op elk moment kan intrekken zonder opgave van redenen.",
		"Я даю согласие на обработку моих персональных данных в соответствии с Федеральным законом «О персональных данных» для целей данного " +
			"исследования. Мне известно, что участие является добровольным и что согласие может быть отозвано мной в любой момент.",
	}
	own = []string{
		"The clerk would declare every morning that the bridge was his own work, and nobody on the bridge would hear of it.",
		"Die Quellen des Flusses wurden selbstständig vermessen, und die Hilfsmittel der Vermessung waren ein Seil und ein Stock.",
		"城墙的修补由本地工匠独立完成，导师只在每年春天来看一次，成果记在县志的末页。",
		"The difference between the number of carts and the number of boats is larger than the number of mills on the river, and as such is not a surprise.",
		"We compared the two mills by the flour that a cart of rye gave in each, and took the mean of three carts because the miller would not wait.",
		"中华人民共和国国境内的河流由当地船工看守，渡口由两岸的村庄轮流修补。",
		"We reproduce the experiment of the first survey and store its measurements in a system of our own, without the permission of the mill.",
		"Le plagiat des copistes se reconnaît à leurs fautes : le mémoire du notaire répète celles de l'abbé, et les sources qu'il cite avec tant " +
			"de soin n'ont jamais existé. Chaque étudiant qui soutient sa thèse déclare aujourd'hui le contraire, et l'université le croit sur l'honneur.",
		"El plagio de los copistas se conoce por sus faltas: el trabajo del notario repite las del abad, y las fuentes que cita con tanto cuidado " +
			"no existieron nunca. Cada alumna que presenta una tesis declara hoy lo contrario, y la universidad acepta su palabra.",
		"O plágio dos copistas conhece-se pelos erros: o trabalho do notário repete os do abade, e as fontes que cita com tanto cuidado nunca " +
			"existiram. Cada aluna que apresenta uma dissertação declara hoje o contrário, e a universidade acredita na sua palavra.",
		"Plagiat kopistów poznaje się po błędach: praca notariusza powtarza pomyłki opata, a źródła, które tak starannie wymienia, nigdy nie " +
			"istniały. Każdy student, który składa pracę, oświadcza dziś coś przeciwnego, a uczelnia wierzy mu na słowo.",
		"Il plagio dei copisti si riconosce dagli errori: il lavoro del notaio ripete quelli dell'abate, e le fonti che cita con tanta cura non " +
			"sono mai esistite. Ogni studente che presenta una tesi dichiara oggi il contrario, e l'università gli crede sulla parola.",
		"Het plagiaat van de kopiisten herken je aan hun fouten: het werk van de notaris herhaalt die van de abt, en de bronnen die hij zo " +
			"zorgvuldig noemt, hebben nooit bestaan. Iedere student die een scriptie inlevert, verklaart nu het tegendeel, en de universiteit gelooft het.",
		"Плагиат переписчиков узнают по ошибкам: работа нотариуса повторяет промахи аббата, а источники, на которые он так старательно ссылается, " +
			"никогда не существовали. Каждый студент, который защищает диссертацию, подтверждает теперь обратное, и университет верит ему на слово.",
	}
)

func TestIn(t *testing.T) {
	s := stock.Public()
	for _, text := range others {
		in := "The first paragraph is the author's.\n\n" + text + "\n\nSo is the last one."
		found := s.In(in)
		if len(found) != 1 || !strings.HasPrefix(found[0].In(in), text[:20]) || found[0].Len() < len(text)-2 {
			t.Errorf("of %q the stock has %v", text, found)
		}
	}
	for _, text := range own {
		if found := s.In(text); len(found) > 0 {
			t.Errorf("%q is of the stock: %v", text, found)
		}
	}
}

// TestWith: the site's own file needs no header, and adds to the known wording.
func TestWith(t *testing.T) {
	const ours = "The members of this house state that the work named above was done within its walls and at its tables alone."
	s := stock.Public().With(ours)
	if found := s.In(ours); len(found) != 1 || found[0].Kind != stock.Own {
		t.Errorf("found %v", found)
	}
	if found := stock.Public().In(ours); len(found) != 0 {
		t.Errorf("the public stock has it: %v", found)
	}
	if found := s.In(others[0]); len(found) != 1 || found[0].Kind != stock.Declaration {
		t.Errorf("what was known is gone: %v", found)
	}
}

func FuzzIn(f *testing.F) {
	for _, text := range append(others, own...) {
		f.Add(text)
	}
	f.Add("== \xff\n本 \n\n。a.b")
	s := stock.Public()
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, x := range s.With(text).In(text) {
			if x.Start < end || x.End <= x.Start || x.End > len(text) {
				t.Fatalf("found %v of %d bytes", x, len(text))
			}
			end = x.End
		}
	})
}
