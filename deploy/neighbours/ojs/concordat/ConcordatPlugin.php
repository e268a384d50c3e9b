<?php

/**
 * ConcordatPlugin sends the text of an article to a Concordat site when its stage is reached, and shows editors the share that
 * counts, with a link to the check. For OJS 3.4 and 3.5.
 */

namespace APP\plugins\generic\concordat;

use APP\core\Application;
use APP\decision\Decision;
use APP\facades\Repo;
use APP\plugins\generic\concordat\classes\Client;
use APP\plugins\generic\concordat\classes\Entry;
use APP\plugins\generic\concordat\classes\Failure;
use Illuminate\Support\Facades\Event;
use PKP\core\JSONMessage;
use PKP\db\DAORegistry;
use PKP\linkAction\LinkAction;
use PKP\linkAction\request\AjaxModal;
use PKP\linkAction\request\RedirectAction;
use PKP\observers\events\SubmissionSubmitted;
use PKP\plugins\GenericPlugin;
use PKP\plugins\Hook;
use PKP\security\Role;
use PKP\submissionFile\SubmissionFile;

class ConcordatPlugin extends GenericPlugin
{
    /** Where an entry is kept, with its submission. */
    public const FIELD = 'concordatCheck';
    /** Stages at which the text is sent, by the name in the settings. */
    public const STAGES = ['submission', 'review', 'production'];
    /** Genre::GENRE_CATEGORY_DOCUMENT, whose namespace differs between versions. */
    private const DOCUMENT = 1;

    public function register($category, $path, $mainContextId = null)
    {
        if (!parent::register($category, $path, $mainContextId)) {
            return false;
        }
        if (!$this->getEnabled($mainContextId)) {
            return true;
        }
        Hook::add('Schema::get::submission', function (string $hook, array $args): bool {
            $args[0]->properties->{self::FIELD} = (object) ['type' => 'string', 'writeOnly' => true, 'validation' => ['nullable']];
            return false;
        });
        Hook::add('Decision::add', function (string $hook, array $args): bool {
            $this->decided($args[0]);
            return false;
        });
        Event::listen(SubmissionSubmitted::class, function (SubmissionSubmitted $event): void {
            $this->reached($event->submission, 'submission');
        });
        Hook::add('LoadHandler', [$this, 'loadHandler']);
        Hook::add('TemplateManager::setupBackendPage', [$this, 'addToMenu']);
        return true;
    }

    public function getDisplayName()
    {
        return __('plugins.generic.concordat.name');
    }

    public function getDescription()
    {
        return __('plugins.generic.concordat.description');
    }

    /** A decision of an editor may reach a stage. */
    public function decided($decision): void
    {
        $stage = match ((int) $decision->getData('decision')) {
            Decision::EXTERNAL_REVIEW => 'review',
            Decision::SEND_TO_PRODUCTION => 'production',
            default => null,
        };
        if ($stage !== null && ($submission = Repo::submission()->get((int) $decision->getData('submissionId')))) {
            $this->reached($submission, $stage);
        }
    }

    /** Plans the check of a submission that reached a stage, if the settings name that stage. */
    public function reached($submission, string $stage): void
    {
        $context = (int) $submission->getData('contextId');
        if ($this->client($context) && $this->getSetting($context, 'stage') === $stage) {
            $this->plan($submission);
        }
    }

    /**
     * Plans a check of the text of a submission. If one is under way, no other begins. Whatever is wrong is shown in the queue,
     * never to the author.
     */
    public function plan($submission): void
    {
        $now = time();
        $entry = $this->entry($submission);
        if (!$entry?->open()) {
            $file = $this->text($submission);
            $entry = new Entry($file ? (int) $file->getId() : 0);
            if (!$file) {
                $entry->state = 'failed';
                $entry->cause = __('plugins.generic.concordat.notext');
            }
        } elseif (!$entry->lost($now)) {
            return;
        }
        $entry->due = $now;
        $this->keep($submission, $entry);
        if ($entry->open()) {
            WorkJob::dispatch((int) $submission->getId());
        }
    }

    /**
     * Returns the newest file that is the text of the article: forms, data, pictures and other supplementary files are not sent.
     */
    public function text($submission)
    {
        $genres = DAORegistry::getDAO('GenreDAO');
        $found = null;
        foreach (Repo::submissionFile()->getCollector()->filterBySubmissionIds([$submission->getId()])
            ->filterByFileStages([SubmissionFile::SUBMISSION_FILE_SUBMISSION])->getMany() as $file) {
            $genre = $genres->getById($file->getData('genreId'));
            if ($genre && (int) $genre->getCategory() === self::DOCUMENT && !$genre->getSupplementary()
                && !$genre->getDependent() && (!$found || $file->getId() > $found->getId())) {
                $found = $file;
            }
        }
        return $found;
    }

    /** Takes the next step for a submission, and returns the seconds until the one after it; null: there is none. */
    public function work(int $id, int $now): ?int
    {
        $submission = Repo::submission()->get($id);
        $entry = $submission ? $this->entry($submission) : null;
        $client = $entry ? $this->client((int) $submission->getData('contextId')) : null;
        if (!$client || !$entry->open()) {
            return null;
        }
        $entry->step($client, fn () => $this->open($submission, $entry->file), $now);
        $this->keep($submission, $entry);
        return $entry->open() ? max(1, $entry->due - $now) : null;
    }

    private function open($submission, int $id): array
    {
        $file = Repo::submissionFile()->get($id);
        if (!$file || (int) $file->getData('submissionId') !== (int) $submission->getId()) {
            throw new Failure(__('plugins.generic.concordat.notext'), false);
        }
        $path = \PKP\config\Config::getVar('files', 'files_dir') . '/' . $file->getData('path');
        if (!is_readable($path)) {
            throw new Failure(__('plugins.generic.concordat.notext'), false);
        }
        $title = $submission->getCurrentPublication()?->getLocalizedTitle() ?? '';
        return [$path, (string) $file->getLocalizedData('name'), strip_tags((string) $title)];
    }

    public function entry($submission): ?Entry
    {
        return Entry::decode($submission->getData(self::FIELD));
    }

    public function keep($submission, Entry $entry): void
    {
        Repo::submission()->edit($submission, [self::FIELD => $entry->encode()]);
    }

    /** Returns the client of a journal, or null if its settings are not complete. */
    public function client(int $context): ?Client
    {
        $url = (string) $this->getSetting($context, 'url');
        $token = (string) $this->getSetting($context, 'token');
        return $url !== '' && $token !== '' ? new Client($url, $token) : null;
    }

    /** The page of the queue is at JOURNAL/concordat. */
    public function loadHandler(string $hook, array $args): bool
    {
        if ($args[0] !== 'concordat') {
            return false;
        }
        $handler = &$args[3];
        $handler = new QueueHandler($this);
        return true;
    }

    public function addToMenu(string $hook, array $args): bool
    {
        $request = Application::get()->getRequest();
        $user = $request->getUser();
        $context = $request->getContext();
        if ($user && $context && $user->hasRole([Role::ROLE_ID_MANAGER, Role::ROLE_ID_SUB_EDITOR], $context->getId())) {
            $templates = \APP\template\TemplateManager::getManager($request);
            $menu = (array) $templates->getState('menu');
            $menu['concordat'] = ['name' => __('plugins.generic.concordat.queue'),
                'url' => $request->getDispatcher()->url($request, Application::ROUTE_PAGE, $context->getPath(), 'concordat'),
                'isCurrent' => $request->getRequestedPage() === 'concordat'];
            $templates->setState(['menu' => $menu]);
        }
        return false;
    }

    public function getActions($request, $verb)
    {
        $actions = parent::getActions($request, $verb);
        $context = $request->getContext();
        if (!$this->getEnabled() || !$context) {
            return $actions;
        }
        $settings = $request->getRouter()->url($request, null, null, 'manage', null,
            ['verb' => 'settings', 'plugin' => $this->getName(), 'category' => 'generic']);
        $queue = $request->getDispatcher()->url($request, Application::ROUTE_PAGE, $context->getPath(), 'concordat');
        array_unshift(
            $actions,
            new LinkAction('settings', new AjaxModal($settings, $this->getDisplayName()), __('manager.plugins.settings')),
            new LinkAction('queue', new RedirectAction($queue), __('plugins.generic.concordat.queue'))
        );
        return $actions;
    }

    public function manage($args, $request)
    {
        if ($request->getUserVar('verb') !== 'settings') {
            return parent::manage($args, $request);
        }
        $form = new SettingsForm($this, (int) $request->getContext()->getId());
        if (!$request->getUserVar('save')) {
            $form->initData();
            return new JSONMessage(true, $form->fetch($request));
        }
        $form->readInputData();
        if ($form->validate()) {
            $form->execute();
            return new JSONMessage(true);
        }
        return new JSONMessage(true, $form->fetch($request));
    }
}
