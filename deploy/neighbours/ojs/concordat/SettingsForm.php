<?php

namespace APP\plugins\generic\concordat;

use APP\template\TemplateManager;
use PKP\form\Form;
use PKP\form\validation\FormValidator;
use PKP\form\validation\FormValidatorCSRF;
use PKP\form\validation\FormValidatorPost;
use PKP\form\validation\FormValidatorUrl;

/** SettingsForm asks for the site, the token and the stage. */
class SettingsForm extends Form
{
    public function __construct(private ConcordatPlugin $plugin, private int $context)
    {
        parent::__construct($plugin->getTemplateResource('settings.tpl'));
        $this->addCheck(new FormValidator($this, 'url', 'required', 'plugins.generic.concordat.url.required'));
        $this->addCheck(new FormValidatorUrl($this, 'url', 'required', 'plugins.generic.concordat.url.required'));
        $this->addCheck(new FormValidatorPost($this));
        $this->addCheck(new FormValidatorCSRF($this));
    }

    public function initData()
    {
        $this->_data = ['url' => $this->plugin->getSetting($this->context, 'url'), 'token' => '',
            'stage' => $this->plugin->getSetting($this->context, 'stage') ?: 'submission'];
    }

    public function readInputData()
    {
        $this->readUserVars(['url', 'token', 'stage']);
    }

    public function fetch($request, $template = null, $display = false)
    {
        $stages = ['none' => __('plugins.generic.concordat.stage.none')];
        foreach (ConcordatPlugin::STAGES as $stage) {
            $stages[$stage] = __('plugins.generic.concordat.stage.' . $stage);
        }
        TemplateManager::getManager($request)->assign(['pluginName' => $this->plugin->getName(), 'stages' => $stages,
            'known' => (string) $this->plugin->getSetting($this->context, 'token') !== '']);
        return parent::fetch($request, $template, $display);
    }

    public function execute(...$args)
    {
        $this->plugin->updateSetting($this->context, 'url', rtrim(trim((string) $this->getData('url')), '/'), 'string');
        $stage = in_array($this->getData('stage'), ConcordatPlugin::STAGES, true) ? $this->getData('stage') : 'none';
        $this->plugin->updateSetting($this->context, 'stage', $stage, 'string');
        if (($token = trim((string) $this->getData('token'))) !== '') { // shown to nobody; empty: it stays
            $this->plugin->updateSetting($this->context, 'token', $token, 'string');
        }
        return parent::execute(...$args);
    }
}
