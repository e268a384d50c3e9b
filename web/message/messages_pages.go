package message

// pagesMessages are the words of the pages of originals.
var pagesMessages = map[string][2]string{
	"title.original":  {"Original page", "原文件页面"},
	"original.page":   {"Page %d of %d", "第 %d 页，共 %d 页"},
	"original.show":   {"Show on the original page", "在原文件页面上显示"},
	"original.back":   {"Back to the report", "返回报告"},
	"original.turn":   {"Pages of the original", "原文件的页面"},
	"original.prev":   {"Previous page", "上一页"},
	"original.next":   {"Next page", "下一页"},
	"original.marked": {"Passage %s is framed and shaded on this page.", "第 %s 处段落在本页以边框和底色标出。"},
	"original.other":  {"Passage %s is not on this page.", "第 %s 处段落不在本页。"},
	"original.there":  {"Go to its page", "转到其所在页"},
	"original.unsure": {"Passage %s could not be located with certainty: the page does not show the text as it was read. Nothing is marked.", "无法确定第 %s 处段落的位置：页面上的文字与读取时不同。未作标记。"},
	"original.text":   {"The passage", "该段落"},
	"original.alt":    {"Picture of page %d of the original. Its text is in the report.", "原文件第 %d 页的图像。其文字见报告。"},
}
