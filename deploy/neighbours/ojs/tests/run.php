<?php

/**
 * Tests of the plugin. With CONCORDAT_URL, CONCORDAT_TOKEN and CONCORDAT_READER in the environment they talk to that site, whose
 * second token may only read; else to nobody, and test the steps alone.
 */

require __DIR__ . '/stubs.php';

spl_autoload_register(function (string $class): void {
    $prefix = 'APP\\plugins\\generic\\concordat\\';
    if (str_starts_with($class, $prefix)) {
        require __DIR__ . '/../concordat/' . str_replace('\\', '/', substr($class, strlen($prefix))) . '.php';
    }
});

use APP\plugins\generic\concordat\classes\Client;
use APP\plugins\generic\concordat\classes\Entry;
use APP\plugins\generic\concordat\classes\Failure;
use APP\plugins\generic\concordat\ConcordatPlugin;
use APP\plugins\generic\concordat\QueueHandler;
use APP\plugins\generic\concordat\SettingsForm;
use PKP\observers\events\SubmissionSubmitted;
use PKP\plugins\Hook;
use PKP\security\Role;

$passed = $failed = 0;
function check(bool $ok, string $what): void
{
    global $passed, $failed;
    $ok ? $passed++ : $failed++;
    if (!$ok) {
        echo "FAILED: $what\n", (new Exception())->getTraceAsString(), "\n";
    }
}

/** Fake is a client that answers as it is told. */
class Fake extends Client
{
    public array $calls = [];
    public function __construct(public array $answers)
    {
    }
    private function next(string $call)
    {
        $this->calls[] = $call;
        $a = array_shift($this->answers);
        if ($a instanceof Exception) {
            throw $a;
        }
        return $a;
    }
    public function send(string $path, string $name, string $title, string $key): string
    {
        return $this->next("send $name $key");
    }
    public function check(string $id): array
    {
        return $this->next("check $id");
    }
}

// An entry is sent once with one key, waits longer after each failure, and ends.
$open = fn () => ['/dev/null', 'a.docx', 'A'];
$e = new Entry(7);
$f = new Fake([new Failure('down', true), new Failure('busy', true, 3600), 'id1', ['state' => 'running', 'share' => null, 'cause' => ''],
    ['state' => 'done', 'share' => 0.0, 'cause' => '']]);
$now = 1000;
$e->step($f, $open, $now);
check($e->state === 'waiting' && $e->tries === 1 && $e->due === 1030 && $e->cause === 'down', 'a failure is tried again');
$e->step($f, $open, $now);
check(count($f->calls) === 1, 'not before its time');
$e->step($f, $open, $now = $e->due);
check($e->due === $now + 3600, 'as the site asks');
$e->step($f, $open, $now = $e->due);
check($e->state === 'sent' && $e->check === 'id1' && $e->tries === 0, 'sent');
check(count(array_unique(array_slice($f->calls, 0, 3))) === 1, 'with one key');
$e = Entry::decode($e->encode());
$e->step($f, $open, $now = $e->due);
check($e->state === 'sent', 'it runs');
$e->step($f, $open, $now = $e->due);
check($e->state === 'done' && $e->share === 0.0 && Entry::decode($e->encode())->share === 0.0, 'a share of nothing is no blank');
$e->step($f, $open, $now + 1e6);
check(count($f->calls) === 5, 'nothing after the end');
check(!$e->partial, 'whole');
$e = new Entry(7);
$f = new Fake(['id1', ['state' => 'partial', 'share' => 0.5, 'cause' => '']]);
$e->step($f, $open, 0);
$e->step($f, $open, $e->due);
$e = Entry::decode($e->encode());
check($e->state === 'done' && $e->share === 0.5 && $e->partial, 'what was not compared is kept');
check(!Entry::decode('{"file":1,"state":"done"}')->partial, 'entries of older versions are read');
$e = new Entry(7);
$f = new Fake([new Failure('refused', false)]);
$e->step($f, $open, 0);
check($e->state === 'failed', 'what does not pass is not tried again');
$e = new Entry(7);
$f = new Fake(array_fill(0, 20, new Failure('down', true)));
for ($i = 0; $i < 20; $i++) {
    $e->step($f, $open, $e->due);
}
check($e->state === 'failed' && count($f->calls) === Entry::TRIES, 'given up in the end');
foreach ([null, '', '{', '[]', '{"file":"x"}', '{"file":1,"state":"nonsense"}', str_repeat('[', 50)] as $bad) {
    check(Entry::decode($bad) === null, "not an entry: $bad");
}

// The plugin in its place.
function world(string $stage): ConcordatPlugin
{
    World::$dir = sys_get_temp_dir() . '/ojs-' . getmypid();
    @mkdir(World::$dir);
    file_put_contents(World::$dir . '/article.txt', str_repeat("The harbour pilot keeps a ledger of every tide and lantern that passes.\n\n", 60));
    file_put_contents(World::$dir . '/form.txt', 'a form');
    World::$hooks = World::$listeners = World::$jobs = World::$shown = World::$menu = [];
    World::$genres = [1 => new Data(1, ['category' => 1]), 2 => new Data(2, ['category' => 1, 'supplementary' => true]),
        3 => new Data(3, ['category' => 2])];
    World::$submissions = [5 => new Data(5, ['contextId' => 1, 'title' => 'On <b>tides</b>', 'editor' => 17]),
        6 => new Data(6, ['contextId' => 1, 'title' => 'Empty', 'editor' => 18])];
    $file = fn ($id, $genre, $path, $stage = 2) => new Data($id, ['submissionId' => 5, 'fileStage' => $stage, 'genreId' => $genre,
        'path' => $path, 'name' => $path]);
    World::$files = [1 => $file(1, 1, 'article.txt'), 2 => $file(2, 2, 'form.txt'), 3 => $file(3, 3, 'form.txt'), 4 => $file(4, 1, 'form.txt', 10)];
    World::$settings = [1 => ['url' => getenv('CONCORDAT_URL') ?: 'http://127.0.0.1:9', 'token' => getenv('CONCORDAT_TOKEN') ?: 'x', 'stage' => $stage]];
    World::$user = new Data(17);
    World::$roles = [Role::ROLE_ID_SUB_EDITOR];
    World::$plugin = new ConcordatPlugin();
    World::$plugin->register('generic', 'plugins/generic/concordat');
    return World::$plugin;
}

/** Runs the jobs of the queue until none is left, without waiting for their time, at most for so many seconds. */
function jobs(int $seconds): void
{
    for ($end = time() + $seconds; World::$jobs && time() < $end;) {
        [$job, $delay] = array_shift(World::$jobs);
        foreach (World::$submissions as $s) {
            if ($delay && ($e = Entry::decode($s->data[ConcordatPlugin::FIELD] ?? null)) && $e->tries === 0) {
                $e->due = 0;
                $s->data[ConcordatPlugin::FIELD] = $e->encode();
                usleep(200000);
            }
        }
        $job->handle();
    }
}

$submit = fn ($id) => array_map(fn ($f) => $f(new SubmissionSubmitted(null, World::$submissions[$id])), World::$listeners[SubmissionSubmitted::class]);
$decide = fn ($id, $decision) => Hook::call('Decision::add', [new Data(1, ['decision' => $decision, 'submissionId' => $id])]);

$schema = (object) ['properties' => (object) []];
world('submission');
Hook::call('Schema::get::submission', [$schema]);
check($schema->properties->{ConcordatPlugin::FIELD}->writeOnly === true, 'the field is not shown by the API of OJS');
$submit(5);
check(count(World::$jobs) === 1, 'sent when it is submitted');
check(World::$plugin->text(World::$submissions[5])->getId() === 1, 'the text of the article, and not its forms, data or later stages');
$submit(6);
$e = World::$plugin->entry(World::$submissions[6]);
check($e->state === 'failed' && $e->cause === 'plugins.generic.concordat.notext' && count(World::$jobs) === 1, 'no text is said');
world('review');
$submit(5);
$decide(5, 2);
check(World::$jobs === [], 'not at another stage');
$decide(5, 3);
check(count(World::$jobs) === 1, 'sent when it goes to review');
world('none');
array_map(fn ($d) => $decide(5, $d), [2, 3, 7]);
check(World::$jobs === [], 'only on request');

// The page: a section editor sees and sends what is assigned to them.
$args = ['concordat', 'index', null, null];
$handler = null;
$page = ['concordat', 'index', '', &$handler];
Hook::call('LoadHandler', $page);
check($handler instanceof QueueHandler, 'the page is there');
$other = null;
Hook::call('LoadHandler', ['about', 'index', '', &$other]);
check($other === null, 'other pages are left alone');
check($handler->allowed === [[[Role::ROLE_ID_SITE_ADMIN, Role::ROLE_ID_MANAGER, Role::ROLE_ID_SUB_EDITOR], ['index', 'retry']]], 'no author opens it');
$r = new Request();
$args = [];
$handler->authorize($r, $args, []);
check(count($handler->policies) === 1, 'with the policy of the journal');
foreach ([['post', false], ['csrf', false]] as [$field, $value]) {
    $bad = new Request();
    $bad->vars = ['submissionId' => 5];
    $bad->$field = $value;
    $handler->retry([], $bad);
    check($bad->to === '404' && World::$jobs === [], "refused: $field");
}
$r->vars = ['submissionId' => 6];
$handler->retry([], $r);
check(World::$plugin->entry(World::$submissions[6]) === null, 'not those of others');
$r->vars = ['submissionId' => 5];
$handler->retry([], $r);
check(count(World::$jobs) === 1 && $r->to === 'concordat', 'sent on request');
$first = World::$plugin->entry(World::$submissions[5])->key;
$handler->retry([], $r);
check(count(World::$jobs) === 1 && World::$plugin->entry(World::$submissions[5])->key === $first, 'not twice at a time');
$handler->index([], $r);
check(count(World::$shown['rows']) === 1 && World::$shown['rows'][0]['state'] === 'waiting', 'the queue is shown');
Hook::call('TemplateManager::setupBackendPage', []);
check(isset(World::$menu['concordat']), 'editors find it in the menu');
$e = World::$plugin->entry(World::$submissions[5]);
[$e->state, $e->partial] = ['done', true];
World::$plugin->keep(World::$submissions[5], $e);
$handler->index([], $r);
check(World::$shown['rows'][0]['partial'] && World::$shown['rows'][0]['retry'], 'what was not compared is shown');
$handler->retry([], $r);
$e = World::$plugin->entry(World::$submissions[5]);
check(count(World::$jobs) === 2 && $e->key !== $first && $e->open(), 'anew with another key once it has ended');
$handler->index([], $r);
check(!World::$shown['rows'][0]['retry'], 'no button while it is under way');
$e->due -= 7200;
World::$plugin->keep(World::$submissions[5], $e);
$handler->index([], $r);
check(World::$shown['rows'][0]['retry'], 'a button once nobody works on it');
$handler->retry([], $r);
$handler->retry([], $r);
check(count(World::$jobs) === 3 && World::$plugin->entry(World::$submissions[5])->key === $e->key, 'one that lost its job goes on, with its key');
World::$roles = [Role::ROLE_ID_AUTHOR];
World::$menu = [];
Hook::call('TemplateManager::setupBackendPage', []);
check(World::$menu === [], 'authors do not');
check(count(World::$plugin->getActions($r, [])) === 2, 'settings and queue');

$form = new SettingsForm(World::$plugin, 1);
$form->initData();
check($form->getData('token') === '', 'the token is not shown again');
$form->_data = ['url' => ' https://check.example.edu/ ', 'token' => '', 'stage' => 'whatever'];
$form->execute();
check(World::$settings[1]['url'] === 'https://check.example.edu' && World::$settings[1]['stage'] === 'none', 'settings are cleaned');
check(World::$settings[1]['token'] === (getenv('CONCORDAT_TOKEN') ?: 'x'), 'an empty token leaves the old one');

if (getenv('CONCORDAT_URL')) {
    // A real site.
    world('submission');
    $submit(5);
    jobs(60);
    $e = World::$plugin->entry(World::$submissions[5]);
    check($e->state === 'done' && $e->check !== '', "checked: {$e->state} {$e->cause}");
    World::$roles = [Role::ROLE_ID_MANAGER];
    $h = new QueueHandler(World::$plugin);
    $h->index([], new Request());
    $row = World::$shown['rows'][0];
    check($row['link'] === getenv('CONCORDAT_URL') . '/checks/' . $e->check, 'with its link');
    echo "share: {$row['share']} %\n";
    $client = World::$plugin->client(1);
    $twice = [$client->send(World::$dir . '/article.txt', 'a.txt', '', 'the-same-key'), $client->send(World::$dir . '/article.txt', 'a.txt', '', 'the-same-key')];
    check($twice[0] === $twice[1], 'a repeated request is one check');
    // A token does what its scopes say.
    foreach ([[getenv('CONCORDAT_READER'), '403'], ['wrong', '401']] as [$token, $status]) {
        try {
            (new Client(getenv('CONCORDAT_URL'), $token))->send(World::$dir . '/article.txt', 'a.txt', '', 'k');
            check(false, "sent with a token that may not: $status");
        } catch (Failure $f) {
            check(!$f->passing && str_contains($f->getMessage(), $status), $f->getMessage());
        }
    }
} else {
    world('submission');
    $submit(5);
    jobs(1);
    check(World::$plugin->entry(World::$submissions[5])->tries === 1, 'nobody answers: tried again later');
}
array_map('unlink', glob(World::$dir . '/*'));
rmdir(World::$dir);
echo "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
