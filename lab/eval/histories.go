package eval

// verdict is a reader's verdict on a pair of chapters not listed in shared-shingles.tsv.
type verdict int

const (
	reuse     verdict = iota // one was taken from the other, or both from one text
	oneRecord                // the same campaign in two biographies, in the wording of one record
	noReuse                  // similar by chance or subject
)

// readHistories contains further pairs, not in the list of zh-histories, whose evidence a person read, with both passages in full
// (doc/evaluation/README.md). The list is exact for pairs with twenty equal runs of eight characters, but omits pairs that were reworded
// more.
var readHistories = map[DocumentPair]verdict{
	{"汉书/传/公孙刘田王杨蔡陈郑传.txt", "史记/七十列传/卫将军骠骑列传.txt"}: reuse,
	{"汉书/传/张周赵任申屠传.txt", "史记/十二本纪/孝文本纪.txt"}:       reuse,
	{"汉书/传/张耳陈馀传.txt", "史记/三十世家/陈涉世家.txt"}:         reuse,
	{"汉书/传/张陈王周传.txt", "史记/三十世家/曹相国世家.txt"}:        oneRecord,
	{"汉书/传/萧何曹参传.txt", "史记/三十世家/绛侯周勃世家.txt"}:       oneRecord,
	{"汉书/传/樊郦滕灌傅靳周传.txt", "史记/三十世家/绛侯周勃世家.txt"}:    oneRecord,
	{"汉书/传/陈胜项籍传.txt", "史记/七十列传/田儋列传.txt"}:         reuse,
	{"汉书/传/陈胜项籍传.txt", "史记/七十列传/张耳陈馀列传.txt"}:       reuse,
	{"汉书/传/韩彭英卢吴传.txt", "史记/十二本纪/高祖本纪.txt"}:        reuse, // Lu Wan and his riders wait below the wall
	{"汉书/传/高五王传.txt", "史记/三十世家/楚元王世家.txt"}:         reuse,
	{"汉书/传/魏豹田儋韩王信传.txt", "史记/十二本纪/项羽本纪.txt"}:      reuse,
	{"汉书/志/五行志下之上.txt", "史记/三十世家/孔子世家.txt"}:        reuse,
	{"汉书/志/刑法志.txt", "史记/七十列传/扁鹊仓公列传.txt"}:         reuse,
	{"汉书/志/地理志下.txt", "史记/三十世家/越王勾践世家.txt"}:        reuse,
	{"汉书/志/律历志上.txt", "史记/八书/律书.txt"}:              noReuse, // the powers of three, each in a sentence
	{"汉书/志/郊祀志上.txt", "史记/十二本纪/孝文本纪.txt"}:          reuse,
	{"汉书/纪/武帝纪.txt", "史记/八书/封禅书.txt"}:              reuse,
	{"汉书/纪/武帝纪.txt", "史记/七十列传/儒林列传.txt"}:           reuse, // the edict of the academy
	{"汉书/纪/武帝纪.txt", "史记/七十列传/南越列传.txt"}:           reuse,
	{"汉书/纪/高帝纪上.txt", "史记/三十世家/留侯世家.txt"}:          reuse,
	{"汉书/纪/高帝纪下.txt", "史记/三十世家/留侯世家.txt"}:          reuse,
	{"汉书/纪/高帝纪下.txt", "史记/七十列传/魏豹彭越列传.txt"}:        reuse,
	{"汉书/表/异姓诸侯王表.txt", "史记/十表/秦楚之际月表.txt"}:        reuse,
	{"汉书/表/诸侯王表.txt", "史记/十表/汉兴以来诸侯王年表.txt"}:       reuse,
}
