package message

var oidcMessages = map[string][2]string{
	"title.signedout": {"Signed out", "已退出"},

	"login.with":           {"Sign in with %s", "使用%s登录"},
	"login.or":             {"or by a password of this site", "或使用本站密码"},
	"login.administrators": {"Administrators sign in by password", "管理员使用密码登录"},
	"login.refused":        {"You cannot sign in with this account. Ask the administrator of this site.", "无法使用此账号登录，请联系本站管理员。"},
	"login.unavailable":    {"The other site does not answer. Try again in a minute.", "对方站点无响应，请稍后再试。"},
	"login.stale":          {"This took too long, or was begun in another window. Sign in again.", "操作超时，或是在其他窗口中开始的。请重新登录。"},
	"login.provider":       {"Use one of the buttons: only administrators sign in by password here.", "请使用上方按钮登录：本站仅允许管理员使用密码登录。"},

	"signedout.here":  {"You are signed out of this site.", "您已退出本站。"},
	"signedout.there": {"You are still signed in at %s. On a shared computer sign out there too.", "您在%s仍处于登录状态。使用公用电脑时请同时退出。"},
	"signedout.do":    {"Sign out there too", "同时退出"},
	"signedout.again": {"Sign in again", "重新登录"},
}
