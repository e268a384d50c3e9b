<?php

namespace APP\plugins\generic\concordat;

use PKP\jobs\BaseJob;
use PKP\plugins\PluginRegistry;

/** WorkJob takes the next step for one submission in the queue of OJS, and plans the one after it. */
class WorkJob extends BaseJob
{
    public function __construct(protected int $submission)
    {
        parent::__construct();
    }

    public function handle(): void
    {
        $plugin = PluginRegistry::getPlugin('generic', 'concordatplugin') ?? PluginRegistry::loadPlugin('generic', 'concordat');
        $wait = $plugin?->work($this->submission, time());
        if ($wait !== null) {
            self::dispatch($this->submission)->delay($wait);
        }
    }
}
