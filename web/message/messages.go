package message

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"concordat/report"
)

// Language is one in which the pages speak.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh-Hans"
)

// Cookie is the name of the cookie that holds the language a visitor chose.
const Cookie = "language"

// LanguageOf returns the language that the visitor chose, or the first that the browser asks for.
func LanguageOf(r *http.Request) Language {
	if c, err := r.Cookie(Cookie); err == nil {
		return LanguageNamed(c.Value)
	}
	for _, one := range strings.Split(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(one)), ";")
		switch {
		case strings.HasPrefix(tag, "zh"):
			return Chinese
		case strings.HasPrefix(tag, "en"):
			return English
		}
	}
	return English
}

// Report returns the language as reports have it.
func (l Language) Report() report.Language {
	if l == Chinese {
		return report.Chinese
	}
	return report.English
}

// LanguageNamed returns the language of that name; English if there is none.
func LanguageNamed(name string) Language {
	if Language(name) == Chinese {
		return Chinese
	}
	return English
}

// Say returns a message. An unknown key is a fault of a page, which a test finds; it is shown as it is.
func (l Language) Say(key string, args ...any) string {
	m, ok := messages[key]
	if !ok {
		return key
	}
	text := m[0]
	if l == Chinese {
		text = m[1]
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Keys returns the keys of all messages, in no order.
func Keys() []string { return slices.Collect(maps.Keys(messages)) }

// messages are the words of the pages by key, in English and in Simplified Chinese.
var messages = joined(plainMessages,
	peopleMessages,
	commonMessages,
	pagesMessages,
	hooksMessages,
	submitMessages,
	libraryMessages,
	adminMessages,
	clusterMessages,
	batchesMessages,
	oidcMessages,
	ltiMessages,
	readingMessages,
	requestMessages,
)

func joined(sets ...map[string][2]string) map[string][2]string {
	all := map[string][2]string{}
	for _, set := range sets {
		for key, m := range set {
			if _, double := all[key]; double {
				panic("two messages of the key " + key)
			}
			all[key] = m
		}
	}
	return all
}

var commonMessages = map[string][2]string{
	"title.checks":    {"Checks", "检测"},
	"title.new":       {"New check", "新建检测"},
	"title.check":     {"Check", "检测"},
	"title.libraries": {"Libraries", "文库"},
	"title.login":     {"Sign in", "登录"},
	"title.first":     {"First administrator", "首位管理员"},
	"title.join":      {"Choose a password", "设置密码"},
	"title.account":   {"Account", "账号"},
	"title.people":    {"People", "人员"},
	"title.error":     {"That did not work", "操作未完成"},

	"nav.main":     {"Main", "主导航"},
	"nav.skip":     {"Skip to the content", "跳到正文"},
	"nav.logout":   {"Sign out", "退出"},
	"nav.language": {"中文", "English"},
	"nav.as":       {"%s (%s)", "%s（%s）"},

	"role.administrator": {"administrator", "管理员"},
	"role.officer":       {"officer", "审核人员"},
	"role.submitter":     {"submitter", "提交者"},
	"role.auditor":       {"auditor", "审计员"},

	"login.name":     {"Account", "账号"},
	"login.password": {"Password", "密码"},
	"login.submit":   {"Sign in", "登录"},
	"login.wrong":    {"Wrong account or password.", "账号或密码不正确。"},
	"login.busy":     {"Too many people are signing in right now. Try again in a few seconds.", "此刻登录人数过多，请几秒后再试。"},
	"login.wait":     {"Too many attempts. Try again in ten minutes.", "尝试次数过多，请十分钟后再试。"},

	"first.explain": {"This link works once. It creates the account that administers the site.", "此链接只能使用一次，用于创建管理本站点的账号。"},
	"first.title":   {"Your name", "姓名"},
	"first.again":   {"Repeat password", "再次输入密码"},
	"first.submit":  {"Create the account", "创建账号"},
	"first.hint":    {"At least 10 characters.", "至少 10 个字符。"},
	"first.name":    {"Give the account a name.", "请填写账号名。"},
	"first.short":   {"The password needs at least 10 characters.", "密码至少需要 10 个字符。"},
	"first.common":  {"This password is among the first that anyone would guess. Choose another.", "这是常被首先猜到的密码，请另选一个。"},
	"first.own":     {"The password is too close to the name of the account. Choose another.", "密码与账号名过于相似，请另选一个。"},
	"first.differ":  {"The two passwords differ.", "两次输入的密码不一致。"},

	"join.submit": {"Save the password and sign in", "保存密码并登录"},

	"account.tokens": {"API tokens of this account", "代表本账号的程序"},
	"account.explain": {"A token lets a learning platform or a portal submit documents and read reports through the API.",
		"令牌允许教学平台或申报系统通过 HTTP 接口提交文档、读取报告。"},
	"account.secret":  {"This is the token. It is shown only once.", "令牌如下，不再显示。"},
	"account.add":     {"New token", "新建令牌"},
	"account.name":    {"Purpose", "用途"},
	"account.may":     {"Permissions", "权限"},
	"account.used":    {"Last used", "最近使用"},
	"account.expires": {"Expires", "有效期至"},
	"account.revoke":  {"Revoke", "吊销"},

	"scope.read":  {"read checks and reports", "读取检测与报告"},
	"scope.check": {"submit and cancel", "提交与取消检测"},

	"people.caption":  {"People who may sign in", "可登录的人员"},
	"people.title":    {"Name", "姓名"},
	"people.role":     {"Role", "角色"},
	"people.do":       {"Change", "操作"},
	"people.add":      {"Add a person", "添加人员"},
	"people.submit":   {"Add", "添加"},
	"people.taken":    {"There is already an account with that name.", "该账号名已被使用。"},
	"people.link":     {"Give this link to %s. It works once, within three days, and is shown only now.", "请将此链接交给 %s。链接三天内有效，只能使用一次，不再显示。"},
	"people.disabled": {"disabled", "已停用"},
	"people.disable":  {"Disable", "停用"},
	"people.enable":   {"Enable", "启用"},
	"people.relink":   {"New link", "新链接"},

	"checks.none":    {"Nothing has been checked yet.", "尚无检测记录。"},
	"checks.title":   {"Document", "文档"},
	"checks.share":   {"Match", "重合比例"},
	"checks.later":   {"reload to see", "刷新后显示"},
	"checks.unasked": {"not measured", "未测量"},
	"checks.state":   {"State", "状态"},
	"checks.made":    {"Submitted", "提交时间"},
	"checks.by":      {"By", "提交人"},
	"checks.older":   {"Older checks", "更早的检测"},
	"checks.caption": {"Checks, newest first", "检测列表，最新在前"},

	"state.queued":   {"waiting", "等待中"},
	"state.running":  {"running", "进行中"},
	"state.done":     {"done", "已完成"},
	"state.partial":  {"partly done", "部分完成"},
	"state.failed":   {"failed", "未完成"},
	"state.position": {"Number %d in the queue; %d being checked now.", "队列中第 %d 位；当前有 %d 份正在检测。"},

	"stage.read":        {"Reading the document", "正在读取文档"},
	"stage.fingerprint": {"Computing fingerprints", "正在生成指纹"},
	"stage.match":       {"Finding similar sentences", "正在查找相似句子"},
	"stage.search":      {"Finding similar wording", "正在查找相似措辞"},
	"stage.align":       {"Comparing with sources", "正在与来源逐词比对"},
	"stage.partner":     {"Asking partner sites", "正在查询合作站点"},
	"stage.add":         {"Adding to the library", "正在加入文库"},
	"stage.verify":      {"Verifying matches", "正在核实发现"},

	"check.cancel":    {"Cancel", "取消"},
	"check.report":    {"Report as HTML", "打开报告"},
	"check.json":      {"JSON", "JSON"},
	"check.csv":       {"CSV", "CSV"},
	"check.pdf":       {"PDF", "PDF"},
	"check.why":       {"Why: %s", "原因：%s"},
	"check.summary":   {"Result", "结果"},
	"check.statement": {"What was compared, and what was not", "比对范围说明"},
	"check.sources":   {"Sources", "来源"},
	"check.progress":  {"Progress", "进度"},
	"check.reload":    {"This page shows the result when it is ready; without scripts, reload it to see progress. You can close this page; the check keeps running.", "完成后本页将显示结果；未启用脚本时请刷新页面查看进度。您可以离开本页，处理会继续。"},

	"passage.here": {"This document", "本文"},

	"rules.title": {"Scoring rules", "计分规则"},
	"rules.explain": {"Scores update at once. Every change is kept with its time and author and can be undone.",
		"分数立即更新。每次更改都会连同时间与操作人一起保存，且可撤销。"},
	"rules.quotes":       {"Ignore quotations", "引文不计分"},
	"rules.bibliography": {"Ignore the list of references", "参考文献不计分"},
	"rules.kinds":        {"Ignore these kinds of match", "不计分的类型"},
	"rules.min":          {"Shortest match that counts, in letters", "计分的最短匹配（字符数）"},
	"rules.share":        {"Smallest source that counts, in percent of the text", "计分来源的最小占比（%）"},
	"rules.set":          {"Apply", "应用"},
	"rules.undo":         {"Undo", "撤销"},
	"rules.exclude":      {"Exclude", "排除"},
	"rules.include":      {"Include again", "恢复计分"},
	"rules.reason":       {"Reason", "理由"},

	"notes.title":   {"Review", "评定"},
	"notes.comment": {"Comment, or reason for the verdict", "意见或评定理由"},
	"notes.add":     {"Comment", "添加意见"},
	"notes.verdict": {"Verdict", "评定结论"},
	"notes.give":    {"Give the verdict", "提交结论"},
	"notes.sign":    {"Sign the verdict off", "复核同意"},
	"notes.signed":  {"signed off by %s", "复核：%s"},

	"review.comment": {"comment", "意见"},
	"review.verdict": {"verdict", "结论"},
	"review.signoff": {"signed the verdict off", "同意结论"},

	"verdict.none":      {"No verdict yet", "尚无结论"},
	"verdict.clear":     {"No concern", "无问题"},
	"verdict.discuss":   {"Discuss with the author", "需与作者沟通"},
	"verdict.suspected": {"Misconduct suspected", "涉嫌学术不端"},

	"new.files":            {"Drop files, folders or ZIP archives here, or choose them", "将文件、文件夹或 ZIP 压缩包拖到此处，或点击选择"},
	"new.files.how":        {"Drop files or a folder here, or choose them: PDF, Word, OpenDocument, PowerPoint, RTF, EPUB, HTML, LaTeX, text, or a ZIP file of these. At most %d files of %d MiB each.", "将文件或文件夹拖放到此处，或选择文件：PDF、Word、OpenDocument、PowerPoint、RTF、EPUB、HTML、LaTeX、纯文本，或其 ZIP 压缩包。最多 %d 个文件，每个不超过 %d MiB。"},
	"new.filesagain":       {"What you entered is still here; files have to be chosen again.", "您填写的内容仍在；文件须重新选择。"},
	"new.or":               {"or paste a text", "或粘贴文本"},
	"new.text":             {"Text", "文本"},
	"new.title":            {"Title of the text", "文本标题"},
	"new.libraries":        {"Libraries", "文库"},
	"new.all":              {"None selected means all.", "不选即为全部。"},
	"new.bylibrary":        {"That of the libraries chosen", "所选文库的模板"},
	"new.template":         {"Section template", "章节模板"},
	"new.plain":            {"none", "无"},
	"new.submit":           {"Check", "开始检测"},
	"new.nothing":          {"Choose a file or paste a text first.", "请先选择文件或粘贴文本。"},
	"new.partners":         {"Partner sites", "合作站点"},
	"new.partners.how":     {"A partner that is chosen learns how many sentences found nothing here, and gets their fingerprints under the key of the federation: it can test guesses against them. It also learns the purpose and when it was asked. No text and no author is sent. What it shows at most stands beside each library.", "所选站点会得知在本站未找到匹配的句子数量，并收到这些句子以联盟密钥生成的指纹；对方可据此验证猜测，并得知用途与时间。不发送任何原文与作者信息。各文库旁为其最多披露的内容。"},
	"new.partners.unknown": {"has not listed its libraries yet", "尚未告知其文库"},
	"new.purpose":          {"Purpose", "用途"},
	"new.purpose.how": {"A word that the federation agreed on, such as thesis; partners may answer for some purposes only.",
		"联盟约定的用途词，例如 thesis；合作站点可能仅就某些用途作答。"},

	"level.nothing":  {"nothing", "不披露"},
	"level.exists":   {"that something matches", "是否有匹配"},
	"level.counts":   {"how much matches", "匹配的数量"},
	"level.metadata": {"which sentences, title, author, contact", "匹配的句子、题名、作者、联系方式"},
	"level.overlap":  {"words that both have, on request", "应请求披露共有词语"},
	"level.passage":  {"passages, if a person agrees", "经人批准后披露段落"},

	"new.documents": {"%d documents", "%d 份文档"},

	"error.absent":  {"Page not found, or you do not have access.", "所请求的内容不存在，或您无权查看。"},
	"error.link":    {"This link has been used or has expired. Ask an administrator for a new one.", "此链接已使用或已过期，请向管理员索取新链接。"},
	"error.signed":  {"You are no longer signed in. Sign in, go back in the browser and send it again: what you wrote may still be there.", "您已退出登录。请登录后在浏览器中返回并重新提交，所填内容可能仍在。"},
	"error.again":   {"Go back in the browser to change it: your input is still there.", "请在浏览器中返回修改，所填内容仍在。"},
	"error.refused": {"Your role does not allow this.", "您的角色无权执行此操作。"},
	"error.large":   {"This is larger than the site accepts.", "超出站点允许的大小。"},
	"error.full": {"The site’s disk is full. Nothing that was accepted is lost; tell the administrator.",
		"站点磁盘已满。此前已接收的内容不会丢失，请通知管理员。"},
	"error.invalid": {"This cannot be used.", "提交的内容无法使用。"},
	"error.busy":    {"Something is not responding. Try again in a minute.", "服务暂时无响应，请稍后再试。"},
	"error.exists":  {"That name is taken, or this has already been done.", "名称已被占用，或此操作已完成。"},
	"error.fault":   {"Something went wrong on the site. It has been logged; tell the administrator the time.", "站点内部出错，已记录。请将时间告知管理员。"},
	"error.back":    {"Back to the checks", "返回检测列表"},
}
