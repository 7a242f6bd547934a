// Goal: content that GitHub can accept is accepted; other content is refused by field, with the
// remedy. The stored content is what the channels read.
import { describe, expect, it } from 'vitest'
import { parseContent, publishForms, type ChannelName } from './github-channels.ts'
import { checkContent } from './github-check.ts'
import { commentContent } from './github-comment.ts'
import { labelContent } from './github-label.ts'
import { reviewContent } from './github-review.ts'
import { statusContent } from './github-status.ts'

describe('stored content', () => {
  it.each([
    [commentContent, 'github-comment', { body: 'Hi' }, { form: 'text', body: 'Hi' }],
    [
      statusContent,
      'github-status',
      { context: 'ci', state: 'success' },
      { context: 'ci', state: 'success', description: '', targetUrl: null },
    ],
    [
      checkContent,
      'github-check',
      { name: 'lint', conclusion: 'failure', title: 'No', details_url: 'https://ci.example/1' },
      {
        name: 'lint',
        status: 'completed',
        conclusion: 'failure',
        title: 'No',
        summary: '',
        detailsUrl: 'https://ci.example/1',
        startedAt: null,
        completedAt: null,
      },
    ],
    [labelContent, 'github-label', { label: 'done' }, { label: 'done', present: true }],
    [
      reviewContent,
      'github-review',
      { body: 'Look', comments: [{ path: 'a.ts', line: 3, start_line: 2, body: 'here' }] },
      {
        body: 'Look',
        event: 'COMMENT',
        commitSha: null,
        comments: [{ path: 'a.ts', line: 3, side: null, startLine: 2, body: 'here' }],
      },
    ],
  ] as const)('has the form that its channel reads', (form, channel, given, kept) => {
    expect(parseContent(channel, given)).toEqual(kept)
    expect(form.parse(kept)).toEqual(kept)
  })

  it('is in progress without a conclusion', () => {
    expect(parseContent('github-check', { name: 'lint' }).status).toBe('in_progress')
  })
})

const token = `ghp_${'A1b2C3d4E5'.repeat(4)}`

describe('refused content', () => {
  it.each<[ChannelName, unknown, string]>([
    ['github-comment', {}, 'body is required'],
    ['github-comment', { body: ' \n' }, 'body must not be empty'],
    ['github-comment', { body: 'a\0b' }, 'body must not contain NUL'],
    ['github-comment', { body: 'a', text: 'b' }, 'text is not a known field'],
    ['github-comment', 'Hi', 'content must be an object'],
    ['github-status', { context: 'ci', state: 'done' }, 'state must be pending, success'],
    ['github-status', { context: 'a\nb', state: 'error' }, 'context must be one line'],
    [
      'github-status',
      { context: 'ci', state: 'error', target_url: 'javascript:alert(1)' },
      'target_url must be an http or https URL',
    ],
    [
      'github-check',
      { name: 'lint', status: 'completed' },
      'conclusion is required when status is completed',
    ],
    [
      'github-check',
      { name: 'lint', status: 'queued', conclusion: 'success' },
      'status must be completed, or left out',
    ],
    ['github-status', { context: `ci/${token}`, state: 'error' }, 'context must not hold a secret'],
    ['github-check', { name: token, conclusion: 'success' }, 'name must not hold a secret'],
    ['github-label', { label: token }, 'label must not hold a secret'],
    ['github-label', { label: '.' }, 'label must be a name other than'],
    ['github-label', { label: '..' }, 'label must be a name other than'],
    ['github-label', { label: 'x'.repeat(51) }, 'label must be at most 50 characters'],
    [
      'github-review',
      { body: '', comments: [{ path: 'a', line: 0, body: 'b' }] },
      'comments.0.line must be a positive whole number',
    ],
    [
      'github-review',
      { body: '', comments: [{ path: 'a', line: 3, start_line: 3, body: 'b' }] },
      'comments.0.start_line must be before line',
    ],
  ])('%s %j: %s', (channel, given, problem) => {
    let error: unknown
    try {
      parseContent(channel, given)
    } catch (thrown) {
      error = thrown
    }
    const message = expect.stringMatching(`^${problem.replaceAll('.', '\\.')}`) as string
    expect(String(error)).not.toContain(token)
    expect(error).toMatchObject({ code: 'invalid_content', message, field: problem.split(' ')[0] })
  })

  it('with an invisible character gets only that error', () => {
    const { error } = publishForms['github-label'].form.safeParse({ label: 'a\u200bb' })
    expect(error?.issues.map(({ message }) => message)).toEqual([
      'must not contain invisible characters',
    ])
  })
})
