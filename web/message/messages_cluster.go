package message

// clusterMessages are the words of the page of the cluster.
var clusterMessages = map[string][2]string{
	"admin.cluster": {"Cluster", "集群"},
	"cluster.alone": {"This site is one machine. It needs no coordinator.", "本站点只有一台机器，无需协调服务。"},
	"cluster.id":    {"Cluster", "集群标识"}, "cluster.nodes": {"Machines", "节点"}, "cluster.shards": {"Shards", "分片"},
	"cluster.node": {"Machine", "节点"}, "cluster.zone": {"Zone", "区域"}, "cluster.state": {"State", "状态"}, "cluster.address": {"Address", "地址"},
	"cluster.copies": {"Copies", "副本数"}, "cluster.leads": {"Master of", "主分片数"}, "cluster.free": {"Free", "可用空间"},
	"cluster.version": {"Version", "版本"},
	"cluster.live":    {"live", "在线"}, "cluster.away": {"away", "离线"},
	"cluster.shard": {"Shard", "分片"}, "cluster.master": {"Master", "主节点"}, "cluster.epoch": {"Epoch", "任期"},
	"cluster.insync": {"In sync", "已同步"},
	"cluster.hold":   {"On hold", "暂不可任主"}, "cluster.wanted": {"Ought to have it", "应存节点"},
	"cluster.healthy": {"healthy", "正常"}, "cluster.fewercopies": {"fewer copies", "副本不足"}, "cluster.nomaster": {"no master", "无主节点"},
	"cluster.warn.nomaster": {"%d shards have no master. What they hold is searched if a copy is there, and cannot be changed.",
		"%d 个分片没有主节点：若有副本仍可检索，但不能修改。"},
	"cluster.warn.fewer": {"%d shards have fewer copies than they ought to.", "%d 个分片的副本少于应有数量。"},
	"cluster.warn.mixed": {"The machines run several versions of the program: %s. Finish the upgrade.", "各节点运行的程序版本不同：%s。请完成升级。"},
	"cluster.moves":      {"Copies of %d shards are under way.", "%d 个分片的副本正在迁移。"}, "cluster.drained": {"drained", "已停用"},
	"cluster.underway": {"Under way", "迁移"}, "cluster.coming": {"to %s", "迁入 %s"}, "cluster.leaving": {"away from %s", "迁出 %s"},
	"cluster.config": {"Configuration of the nodes", "节点配置"}, "cluster.settings": {"Settings for all nodes", "全局设置"},
	"cluster.at": {"version %d of %s", "版本 %d（%s）"}, "cluster.never": {"never set", "从未设置"},
}
