<?php

namespace APP\plugins\generic\concordat;

use APP\facades\Repo;
use APP\handler\Handler;
use APP\submission\Submission;
use APP\template\TemplateManager;
use PKP\security\authorization\ContextAccessPolicy;
use PKP\security\Role;
use PKP\security\Validation;

/** QueueHandler shows editors what was sent from their journal, and sends a text again. */
class QueueHandler extends Handler
{
    public function __construct(private ConcordatPlugin $plugin)
    {
        parent::__construct();
        $this->addRoleAssignment([Role::ROLE_ID_SITE_ADMIN, Role::ROLE_ID_MANAGER, Role::ROLE_ID_SUB_EDITOR], ['index', 'retry']);
    }

    public function authorize($request, &$args, $roleAssignments)
    {
        $this->addPolicy(new ContextAccessPolicy($request, $roleAssignments));
        return parent::authorize($request, $args, $roleAssignments);
    }

    /** Shows the submissions of the journal that were planned. A section editor sees those that are assigned to them. */
    public function index($args, $request)
    {
        $rows = [];
        $client = $this->plugin->client((int) $request->getContext()->getId());
        foreach ($this->submissions($request) as $submission) {
            if ($entry = $this->plugin->entry($submission)) {
                $rows[] = ['id' => $submission->getId(), 'title' => (string) $submission->getCurrentPublication()?->getLocalizedTitle(),
                    'state' => $entry->state, 'cause' => $entry->cause, 'tries' => $entry->tries, 'partial' => $entry->partial,
                    'retry' => !$entry->open() || $entry->lost(time()),
                    'share' => $entry->share === null ? null : round(100 * $entry->share, 1),
                    'link' => $entry->check !== '' && $client ? $client->link($entry->check) : ''];
            }
        }
        $this->setupTemplate($request);
        $templates = TemplateManager::getManager($request);
        $templates->assign(['pageTitle' => __('plugins.generic.concordat.queue'), 'rows' => $rows, 'ready' => $client !== null]);
        $templates->display($this->plugin->getTemplateResource('queue.tpl'));
    }

    /** Sends a text again, or for the first time. */
    public function retry($args, $request)
    {
        if (!$request->isPost() || !$request->checkCSRF()) {
            $request->getDispatcher()->handle404();
            return;
        }
        $id = (int) $request->getUserVar('submissionId');
        foreach ($this->submissions($request) as $submission) {
            if ((int) $submission->getId() === $id) {
                $this->plugin->plan($submission);
            }
        }
        $request->redirect(null, 'concordat');
    }

    private function submissions($request): iterable
    {
        $context = (int) $request->getContext()->getId();
        $found = Repo::submission()->getCollector()->filterByContextIds([$context])
            ->filterByStatus([Submission::STATUS_QUEUED, Submission::STATUS_SCHEDULED]);
        $user = $request->getUser();
        if (!$user->hasRole([Role::ROLE_ID_MANAGER], $context) && !Validation::isSiteAdmin()) {
            $found->assignedTo([$user->getId()]);
        }
        return $found->getMany();
    }
}
