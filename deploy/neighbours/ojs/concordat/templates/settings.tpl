<script>
	$(function() {ldelim}
		$('#concordatSettings').pkpHandler('$.pkp.controllers.form.AjaxFormHandler');
	{rdelim});
</script>
<form class="pkp_form" id="concordatSettings" method="post" action="{url router=$smarty.const.ROUTE_COMPONENT op="manage" category="generic" plugin=$pluginName verb="settings" save=true}">
	{csrf}
	{fbvFormArea id="concordatSettingsArea"}
		{fbvFormSection label="plugins.generic.concordat.url"}
			{fbvElement type="text" id="url" value=$url required="true"}
		{/fbvFormSection}
		{fbvFormSection label="plugins.generic.concordat.token"}
			{fbvElement type="text" password="true" id="token" value=""}
			{if $known}<p>{translate key="plugins.generic.concordat.token.known"}</p>{/if}
		{/fbvFormSection}
		{fbvFormSection label="plugins.generic.concordat.stage"}
			{fbvElement type="select" id="stage" from=$stages selected=$stage translate=false}
		{/fbvFormSection}
	{/fbvFormArea}
	{fbvFormButtons}
</form>
