// Goal: a delivery is shown as people see it on GitHub, for every channel.
import { expect, test } from 'vitest'
import { githubChannels } from '../../channels/github-channels.ts'
import { paintFor } from '../output/paint.ts'
import { previewLines } from './delivery-preview.ts'

const page = { width: 60, paint: paintFor(false) }
const shown = (channel: string, content: unknown): readonly string[] =>
  previewLines({ channel, content }, page)

test('as much of a description is shown as GitHub shows', () => {
  const [content] = examples['github-status'] ?? []
  const long = { ...(content as object), description: 'word '.repeat(60) }
  const [, ...rest] = shown('github-status', long)
  expect(rest.slice(0, -1).join(' ').length).toBeLessThanOrEqual(140)
  expect(rest.at(-2)).toMatch(/…$/)
})

const examples: Readonly<Record<string, readonly [content: unknown, lines: readonly string[]]>> = {
  'github-comment': [{ form: 'text', body: '## Found\n\n- **one**' }, ['Found', '', '- one']],
  'github-status': [
    {
      context: 'acme/lint',
      state: 'failure',
      description: 'Two\nproblems',
      targetUrl: 'https://ci.example.com/7',
    },
    ['failure  acme/lint', 'Two problems', 'https://ci.example.com/7'],
  ],
  'github-check': [
    {
      name: 'acme/types',
      status: 'completed',
      conclusion: 'failure',
      title: '2 type errors',
      summary: '`x` is not a number',
      detailsUrl: null,
      startedAt: null,
      completedAt: null,
    },
    ['failure  acme/types', '2 type errors', '', 'x is not a number'],
  ],
  'github-label': [{ label: 'size/large', present: false }, ['Label "size/large" is removed.']],
  'github-review': [
    {
      body: 'Please look.',
      event: 'REQUEST_CHANGES',
      commitSha: null,
      comments: [
        { path: 'a.ts', body: 'Use `const`.', line: 12, side: null, startLine: null },
        { path: 'b.ts', body: 'Why?', line: 14, side: 'LEFT', startLine: 10 },
      ],
    },
    [
      'Review: requests changes',
      '',
      'Please look.',
      '',
      'a.ts, line 12',
      'Use const.',
      '',
      'b.ts, lines 10 to 14 of the old text',
      'Why?',
    ],
  ],
}

test.each(githubChannels)('%s is shown as people see it', (channel) => {
  const [content, lines] = examples[channel] ?? []
  expect(shown(channel, content)).toEqual(lines)
})

test('a run’s comment is built from the run', () => {
  const view = {
    locale: 'en',
    type: 'review',
    runId: 'run_1',
    state: 'succeeded',
    verdict: 'failure',
    round: 1,
    attempt: 1,
    headSha: 'a'.repeat(40),
    baseSha: null,
    createdAt: 0,
    startedAt: 0,
    finishedAt: 1000,
    summary: 'Two **problems**',
    errorCode: null,
    errorText: null,
    targetUrl: null,
    reports: [],
    phases: [],
    past: [],
    pastMore: 0,
  }
  const lines = shown('github-comment', { form: 'anchor', view })
  expect(lines[0]).toBe('❌ review: not passed')
  expect(lines).toContain('Two problems')
})

test('a secret that is hidden on GitHub is hidden here', () => {
  const secret = `ghp_${'a1B2'.repeat(9)}`
  for (const [channel, content] of [
    ['github-comment', { form: 'text', body: `token ${secret}` }],
    ['github-status', { ...(examples['github-status']?.[0] as object), description: secret }],
  ] as const) {
    expect(shown(channel, content).join('\n')).not.toContain(secret)
  }
})

test('content that this version does not know is shown as it is stored', () => {
  expect(shown('telegram', { text: 'hi\x1b[2J' })).toEqual(['{', '  "text": "hi\\u001b[2J"', '}'])
  expect(shown('github-label', { other: 1 })).toEqual(['{', '  "other": 1', '}'])
})
