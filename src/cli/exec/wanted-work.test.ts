/** Goal: what the command line and a GitHub event say becomes the claim, or a clear error. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { wantedWork } from './wanted-work.ts'

const cwd = mkdtempSync(join(tmpdir(), 'holdfast-event-'))
const base = 'b'.repeat(40)
const head = 'a'.repeat(40)
const pull = { repo: 'Acme/Widgets', pr: '5', base, head }
const repository = { id: 42, full_name: 'Acme/Widgets' }
const sender = { login: 'mona', id: 1, type: 'User' }
const pullRequest = {
  ...{ number: 5, updated_at: '2026-01-31T12:00:00Z', state: 'open' },
  ...{ head: { sha: head }, base: { sha: base } },
}
const synchronize = {
  ...{ action: 'synchronize', number: 5, before: 'c'.repeat(40) },
  ...{ pull_request: pullRequest, repository, sender },
}
const push = { ref: 'refs/heads/main', before: base, after: head, repository, sender }

function sent(flags: object, env: Record<string, string> = {}): unknown {
  return wantedWork({ ...flags }, { cwd, env }).sent
}

function fromEvent(payload: unknown, flags: object = {}, name?: string): unknown {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  writeFileSync(join(cwd, 'event.json'), text)
  const env = name === undefined ? {} : { GITHUB_EVENT_NAME: name }
  return sent({ fromGithubEvent: 'event.json', ...flags }, env)
}

it('an event file may begin with a byte order mark', () => {
  expect(fromEvent(`\ufeff${JSON.stringify(synchronize)}`)).toEqual(fromEvent(synchronize))
})

describe('flags', () => {
  it('name a pull request', () => {
    expect(sent({ ...pull, input: '{"depth":2}', rerun: true })).toEqual({
      ...{ repo: 'Acme/Widgets', pr: 5, base_sha: base, head_sha: head },
      ...{ input: { depth: 2 }, rerun: true },
    })
  })

  it('name a job', () => {
    const job = { key: 'nightly', subject: 'docs', type: 'build', repo: 'acme/widgets', sha: head }
    expect(sent(job)).toEqual(job)
  })

  it.each([
    [{}, '--repo, --pr, --base, --head are missing'],
    [{ ...pull, head: undefined }, '--head is missing'],
    [{ fromGithubEvent: '' }, '--from-github-event is empty'],
    [{ fromGithubEvent: '.' }, 'is a folder, not a file'],
    [{ ...pull, pr: '5x' }, '--pr must be a positive whole number'],
    [{ ...pull, pr: '0' }, '--pr must be a positive whole number'],
    [{ ...pull, repo: 'acme' }, "--repo must be owner/name in GitHub's characters"],
    [{ ...pull, head: 'main' }, '--head must be a full sha: 40 or 64 hex digits'],
    [{ ...pull, input: '{' }, '--input must be JSON'],
    [{ ...pull, type: 'Not a type' }, '--type must be a lower-case letter'],
    [{ ...pull, key: 'k', type: 'build' }, '--key is for a job, and --pr for a pull request'],
    [{ key: 'k' }, '--type is missing'],
    [{ key: 'k', type: 't', sha: head }, '--sha needs --repo'],
    [{ subject: 'docs' }, '--subject is for a job; give --key as well'],
  ])('%j are refused: %s', (flags, message) => {
    expect(() => sent(flags)).toThrow(message)
  })
})

describe('an event', () => {
  it('of a pull request has its commits, its time and its order', () => {
    expect(fromEvent(synchronize, {}, 'pull_request_target')).toEqual({
      ...{ repo: 'acme/widgets', repo_id: 42, pr: 5, base_sha: base, head_sha: head },
      ...{ before_sha: 'c'.repeat(40), action: 'synchronize', sender: 'mona' },
      ...{ event: 'pull_request_target', event_at: '2026-01-31T12:00:00.000Z' },
    })
  })

  it('is recognised without the variables of GitHub Actions', () => {
    expect(fromEvent(synchronize)).toMatchObject({ pr: 5, event: 'pull_request' })
    expect(fromEvent(push, { type: 'docs' })).toMatchObject({ event: 'push', sha: head })
  })

  it('gives way to flags, and its time does not count for other commits', () => {
    const other = 'd'.repeat(40)
    const claim = fromEvent(synchronize, { head: other, type: 'lint' })
    expect(claim).toMatchObject({ head_sha: other, base_sha: base, pr: 5, type: 'lint' })
    for (const field of ['event_at', 'action', 'before_sha']) {
      expect(claim).not.toHaveProperty(field)
    }
    expect(fromEvent(synchronize, { repo: 'acme/other' })).not.toHaveProperty('repo_id')
    expect(fromEvent(synchronize, { head: head.toUpperCase() })).toHaveProperty('event_at')
  })

  it('of a push is a job on its commit, one at a time for a branch', () => {
    expect(fromEvent(push, { type: 'docs' }, 'push')).toEqual({
      key: `acme/widgets:refs/heads/main:sha-${head}`,
      ...{ subject: 'refs/heads/main', repo: 'acme/widgets', repo_id: 42, sha: head },
      ...{ type: 'docs', event: 'push', sender: 'mona' },
    })
  })

  it('of a merge queue is a job on its commit', () => {
    const group = { head_sha: head, head_ref: 'refs/heads/gh-readonly-queue/main/pr-5' }
    const payload = { action: 'checks_requested', merge_group: group, repository, sender }
    expect(fromEvent(payload, { type: 'docs' }, 'merge_group')).toMatchObject({
      ...{ sha: head, subject: 'refs/heads/gh-readonly-queue/main/pr-5' },
    })
  })

  it('without a pull request or a commit needs a key, and gives the repository', () => {
    const dispatch = { inputs: {}, ref: 'refs/heads/main', repository, sender }
    const job = { key: 'release:1.2', type: 'release' }
    expect(fromEvent(dispatch, job, 'workflow_dispatch')).toEqual({
      ...{ ...job, repo: 'acme/widgets', repo_id: 42 },
      ...{ event: 'workflow_dispatch', sender: 'mona' },
    })
    expect(() => fromEvent(dispatch, { type: 'x' }, 'workflow_dispatch')).toThrow(
      'An event "workflow_dispatch" names no pull request and no commit',
    )
    expect(fromEvent(dispatch, { ...job, sha: head })).toMatchObject({ sha: head, repo_id: 42 })
    const deleted = { ...push, after: '0'.repeat(40) }
    expect(() => fromEvent(deleted, { type: 'docs' }, 'push')).toThrow('names no pull request')
  })

  it('about a comment names no commits', () => {
    const issue = { number: 5, pull_request: {} }
    const payload = { action: 'created', issue, comment: { id: 1 }, repository, sender }
    expect(() => fromEvent(payload, {}, 'issue_comment')).toThrow('without its commits')
    expect(fromEvent(payload, { base, head }, 'issue_comment')).toMatchObject({ pr: 5 })
  })

  it.each([
    ['{', 'is not JSON'],
    [{ action: 'opened' }, 'is not the payload of a GitHub event'],
    ['[]', 'is not the payload of a GitHub event'],
  ])('%j is refused: %s', (payload, message) => {
    expect(() => fromEvent(payload)).toThrow(message)
  })

  it('in a file that does not exist is an error that names the file', () => {
    expect(() => sent({ fromGithubEvent: 'missing.json' })).toThrow('missing.json does not exist')
  })
})
