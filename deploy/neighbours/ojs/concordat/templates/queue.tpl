{extends file="layouts/backend.tpl"}
{block name="page"}
	<h1 class="app__pageHeading">{translate key="plugins.generic.concordat.queue"}</h1>
	{if !$ready}<p>{translate key="plugins.generic.concordat.notready"}</p>{/if}
	{if $rows}
		<table class="pkpTable">
			<thead><tr>
				<th>{translate key="common.id"}</th><th>{translate key="common.title"}</th>
				<th>{translate key="plugins.generic.concordat.state"}</th><th>{translate key="plugins.generic.concordat.share"}</th><th></th>
			</tr></thead>
			<tbody>
			{foreach from=$rows item=row}
				<tr>
					<td>{$row.id|escape}</td><td>{$row.title|strip_unsafe_html}</td>
					<td>{translate key="plugins.generic.concordat.state."|cat:$row.state} {if $row.partial}{translate key="plugins.generic.concordat.partial"}{/if} {$row.cause|escape}</td>
					<td>{if $row.link}<a href="{$row.link|escape}" target="_blank" rel="noopener noreferrer">{if $row.share !== null}{$row.share|escape} %{else}{translate key="plugins.generic.concordat.open"}{/if}</a>{/if}</td>
					<td>{if $row.retry}<form method="post" action="{url page="concordat" op="retry"}">{csrf}<input type="hidden" name="submissionId" value="{$row.id|escape}"><button class="pkpButton">{translate key="plugins.generic.concordat.retry"}</button></form>{/if}</td>
				</tr>
			{/foreach}
			</tbody>
		</table>
	{else}<p>{translate key="plugins.generic.concordat.none"}</p>{/if}
{/block}
