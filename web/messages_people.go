package web

// peopleMessages are the words about accounts, quotas, and deletion.
var peopleMessages = map[string][2]string{
	"title.register":  {"Make an account", "注册账号"},
	"title.deletions": {"Deletions", "删除记录"},

	"error.often":    {"Too many requests in a short time. Wait a little.", "短时间内请求过多，请稍候。"},
	"error.streams":  {"Too many pages of this account follow their checks. Close some.", "此账号正在跟踪进度的页面过多，请关闭一些。"},
	"error.quota":    {"Your quota is used up.", "您的配额已用完。"},
	"error.open":     {"You have as many checks waiting as you may have at once. Hand in more when one of them is done.", "您等待中的检测已达上限。请待其中一项完成后再提交。"},
	"error.crowd":    {"So many checks of public accounts are waiting that no more are taken for now. Try again in a minute.", "公共账号等待中的检测过多，暂不接收。请稍后再试。"},
	"error.notshown": {"The policy of this site does not show you this report, or not yet.", "按本站点的规定，此报告不向您显示，或尚未显示。"},

	"quota.documents":  {"documents in 24 hours", "份文档（24 小时内）"},
	"quota.bytes":      {"bytes in 24 hours", "字节（24 小时内）"},
	"quota.characters": {"characters in 24 hours", "字符（24 小时内）"},
	"quota.accounts":   {"new accounts in 24 hours", "个新账号（24 小时内）"},
	"quota.open":       {"checks that wait at once", "项同时等待的检测"},
	"quota.used":       {"Quota of %s: %d of %d left; this fits again at %s.", "%s 配额：剩余 %d，共 %d；可再次提交的时间：%s。"},
	"quota.never":      {"Quota of %s: this needs %d, and %d is the most at any time.", "%s 配额：本次需要 %d，上限为 %d。"},
	"quota.title":      {"What you may hand in", "提交配额"},

	"view.report":  {"This site shows you the report without the wording of other people.", "本站点向您显示报告，但不含他人的文字。"},
	"view.score":   {"This site shows you the score alone.", "本站点仅向您显示分数。"},
	"view.nothing": {"This site does not show you the report, or not before somebody has looked at it.", "本站点不向您显示报告，或须经审阅之后才显示。"},

	"register.name":    {"A name is 3 to 64 small letters, digits and . _ + @ - and begins with a letter or a digit.", "账号名为 3 至 64 个小写字母、数字或 . _ + @ -，且以字母或数字开头。"},
	"register.full":    {"No more accounts can be made here for now.", "目前无法再注册账号。"},
	"register.explain": {"Choose a name. It is not checked who you are, and no mail is sent.", "请选择账号名。本站不核实身份，也不发送邮件。"},
	"register.done":    {"Your account is %s. Go on to choose its password: this link works once, within an hour, and is not shown again.", "您的账号为 %s。请继续设置密码：链接一小时内有效，只能使用一次，不再显示。"},
	"register.go":      {"Choose a password", "设置密码"},

	"sessions.title":   {"Browsers that are signed in", "已登录的浏览器"},
	"sessions.browser": {"Browser", "浏览器"},
	"sessions.since":   {"Since", "登录时间"},
	"sessions.last":    {"Last used", "最近使用"},
	"sessions.here":    {"this one", "当前浏览器"},
	"sessions.end":     {"Sign out", "退出"},
	"sessions.others":  {"Sign out all others", "退出其他所有浏览器"},

	"password.title":  {"Change the password", "修改密码"},
	"password.old":    {"Present password", "当前密码"},
	"password.new":    {"New password", "新密码"},
	"password.ends":   {"A new password signs all other browsers out. Tokens of programs go on, unless you revoke them.", "新密码会使其他所有浏览器退出登录。程序令牌继续有效，除非您将其撤销。"},
	"password.tokens": {"Revoke all tokens of programs too", "同时撤销所有程序令牌"},
	"password.wrong":  {"The present password is not right.", "当前密码不正确。"},
	"password.submit": {"Change", "修改"},
	"password.done":   {"The password is changed. All other browsers are signed out; tokens of programs stay.", "密码已修改。其他浏览器均已退出；程序的令牌不受影响。"},
	"people.rerole":   {"Change the role", "更改角色"},
	"people.public":   {"made it themselves", "自行注册"},

	"scope.erase": {"delete for good", "永久删除"},

	"new.nostore": {"Do not keep the text and the file once the report is made", "报告生成后不保留原文及文件"},

	"delete.title":    {"Delete for good", "永久删除"},
	"delete.check":    {"The report, the text and the original are deleted from the disk. Nothing brings them back but a backup.", "报告、原文及原文件将从磁盘上删除，除备份外无法恢复。"},
	"delete.document": {"A document of a library", "文库中的文档"},
	"delete.library":  {"Library", "文库"},
	"delete.id":       {"Document", "文档"},
	"delete.reason":   {"Reason", "理由"},
	"delete.submit":   {"Delete", "删除"},

	"deletions.caption": {"What was deleted", "已删除的内容"},
	"deletions.none":    {"Nothing has been deleted.", "尚无删除记录。"},
	"deletions.when":    {"Asked", "提出时间"},
	"deletions.who":     {"By", "操作者"},
	"deletions.state":   {"State", "状态"},
	"deletions.what":    {"Checks and documents", "检测与文档"},
	"deletions.counts":  {"checks: %d, documents: %d", "检测 %d 项，文档 %d 份"},
	"deletions.receipt": {"Receipt", "凭证"},
	"deletions.older":   {"Older ones", "更早的记录"},
	"deletion.asked":    {"asked for", "已提出"},
	"deletion.deleted":  {"deleted, bytes still on disk", "已删除，磁盘上尚有残留"},
	"deletion.done":     {"done, the bytes are gone", "已完成，磁盘上无残留"},
}
