import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutBody } from './cut-body.ts'
import { safeLine, safeText } from './safe-text.ts'

/** Makes invisible characters visible. */
const seen = (text: string): string => text.replaceAll('\u200b', '·')
const text = (written: string): string => seen(safeText(written))
const line = (written: string, max?: number): string => seen(safeLine(written, max))

describe('a text', () => {
  test('keeps its Markdown', () => {
    const written = [
      '# Findings',
      '',
      '1. **bold** and _soft_, `code`',
      '   - nested, ~~gone~~',
      '',
      '| a | b |',
      '|---|---|',
      '| 1<br>2 | [link](https://example.com/a?b=c#d) |',
      '',
      '> quoted',
      '',
      '```ts',
      'const a = b < c && d > e // @me',
      '```',
      '',
      '<https://example.com>',
    ].join('\n')
    expect(safeText(written)).toBe(written)
  })

  test.each([
    ['a mention', 'hi @octocat, @org/team', 'hi @·octocat, @·org/team'],
    ['one at the start', '@octocat', '@·octocat'],
    ['one in emphasis', '_@octocat_', '_@·octocat_'],
    ['one that is written as an entity', '&#64;octocat &#x40;b &commat;c', '@·octocat @·b @·c'],
    ['one whose name is an entity', '@&#111;ctocat', '@·octocat'],
    ['one behind a letter of another script', 'ю@octocat', 'ю@·octocat'],
    ['an address is none', 'mail me@example.com', 'mail me@example.com'],
    ['one in a URL', 'https://example.com/@octocat', 'https://example.com/%40octocat'],
    ['one in code', 'npm i `@types/node`', 'npm i `@types/node`'],
    ['one between escaped backticks', '\\`@octocat\\`', '\\`@·octocat\\`'],
    ['one beside an odd backtick', 'a ` b\n`@octocat` c', 'a ` b\n`@·octocat` c'],
    ['one in two cells', '| `a | @octocat | b` |', '| `a | @·octocat | b` |'],
    ['one that is no entity', '\\&#64;octocat', '\\&#·64;octocat'],
    ['one right before an address', 'a @https://b.c', 'a @·https://b.c'],
    ['one behind a link', '[a](/b`c)@octocat `d', '[a](/b`c)@·octocat `d'],
  ])('%s', (_name, written, safe) => {
    expect(text(written)).toBe(safe)
  })

  test.each([
    ['a marker', '<!-- holdfast:x -->', '<·!-- holdfast:x --·>'],
    ['a tag that an entity spells', '<&#105;mg src=x> <&sol;p>', '<·img src=x> <·/p>'],
    ['a marker in code', '```\n<!-- holdfast:x -->\n```', '```\n<·!-- holdfast:x -->\n```'],
    ['a tag', '<img src=x> <b>', '<·img src=x> <·b>'],
    ['a break on its own in a footnote', '[^1]: <br>', '[^1]: <·br>'],
    ['a break on its own', '<br>\n@a', '<·br>\n@·a'],
    ['a fold that is only closed', 'a\n</details>\nb', 'a\n<·/details>\nb'],
    ['a title without a fold', '<summary>a</summary>', '<·summary>a<·/summary>'],
    ['marks that turn text around', 'a\u202eb\u2066c\u200fd\ufeff', 'abcd'],
    ['controls and halves', 'a\u0000b\u0007\r\nc\ud800', 'ab\nc\ufffd'],
    ['emoji of many parts', '👨‍👩‍👧 🇩🇪 1️⃣ ❤️', '👨‍👩‍👧 🇩🇪 1️⃣ ❤️'],
    ['words that need a joiner', 'می‌خواهم', 'می‌خواهم'],
    ['hidden text in tag characters', 'a\u{e0068}\u{e0069}b', 'ab'],
    ['fillers and soft hyphens', 'a\u00adb\u3164c', 'abc'],
  ])('%s', (_name, written, safe) => {
    expect(text(written)).toBe(safe)
  })

  test.each([
    ['an issue', 'see #12, a/b#3 and GH-4', 'see #·12, a/b#·3 and GH-·4'],
    ['an issue written as an entity', '&#35;12 &#x23;13 &num;14 #&#49;5', '#·12 #·13 #·14 #·15'],
    ['an entity is no reference', '&#128512;', '&#128512;'],
    [
      'the address of an issue',
      'https://github.com/a/b/issues/1',
      'https://redirect.github.com/a/b/issues/1',
    ],
    ['another address keeps its fragment', 'https://a.example/b#12', 'https://a.example/b#12'],
    ['an issue in code', '`#12`', '`#12`'],
    ['an issue behind a link', '[t](https://e.com)#12', '[t](https://e.com)#·12'],
    ['an issue behind an address', '<https://e.com>#1', '<https://e.com>#·1'],
    ['an issue in the next cell', '|https://a.b|#13|GH-1|', '|https://a.b|#·13|GH-·1|'],
    ['an issue in brackets', '[https://a.b]#12', '[https://a.b]#·12'],
    [
      'an issue behind what is no address',
      'https://#12 xhttps://a.b#1',
      'https://#·12 xhttps://a.b#·1',
    ],
    ['an issue in emphasis', '_GH-12_', '_GH-·12_'],
    ['an issue with an escape', 'GH\\-12 \\#13', 'GH\\-·12 \\#·13'],
    ['an issue with an entity', 'GH&#45;12', 'GH\\-·12'],
    ['what is no entity', '&#12 &#x', '&#·12 &#x'],
    ['a mention behind a link', '[t](https://e.com)@octocat', '[t](https://e.com)@·octocat'],
    ['a fragment behind brackets', 'https://a.b/c_(d)#e', 'https://a.b/c_(d)#e'],
    ['a fragment in a destination', '[t](https://a.b/c#12)', '[t](https://a.b/c#12)'],
    ['an issue behind two addresses', 'http:1https://a.b/c#1', 'http:1https://a.b/c#·1'],
    ['a name that begins like an issue', 'https://a.b/GH-12', 'https://a.b/GH-12'],
  ])('contains no reference: %s', (_name, written, safe) => {
    expect(text(written)).toBe(safe)
  })

  test.each([
    'https://github\\.com/o/r/issues/1',
    'https\\:\\/\\/github.com/o/r/issues/1',
    'https&colon;//github.com/o/r/issues/1',
    '&#104;ttps://github.com/o/r/issues/1',
    'https://github&#46;com/o/r/issues/1',
    'https://github&period;com/o/r/&#105;ssues/1',
    'https://git&Tab;hub.com/o/r/issues/1',
    'https://github.com:443/o/r/issues/1',
    'http://github.com./o/r/issues/1',
    'https://u@github.com/o/r/issues/1',
    'https://github%2Ecom/o/r/issues/1',
    'https://ｇithub.com/o/r/issues/1',
    'https://github.com//o/r/issues/1',
    'https://github.com/o/r/issues%2F1',
    'https:github.com/o/r/issues/1',
    'https://github\\.com//o/r/issues/1',
    '//github.com/o/r/issues/1',
    '\\/o/r/issues/1',
    '/o/r/issues/1',
  ])('redirects the address of an issue written as %s', (address) => {
    expect(text(`[t](${address})`)).toMatch(
      /^\[t\]\(https:\/\/redirect\.github\.com\/\/?o\/r\/issues(?:\/|%2F)1\)$/,
    )
    expect(text(`[t]: ${address}`)).toContain('//redirect.github.com/')
  })

  test('redirects the address of an issue behind many spaces', () => {
    const far = `${' \t'.repeat(6)}/o/r/issues/1`
    expect(text(`[t](${far})`)).toContain('https://redirect.github.com/')
    expect(text(`[t]:${far}`)).toContain('https://redirect.github.com/')
  })

  test.each([
    ['a link', '[t](\n/o/r/issues/1)', '[t]·(\n/·o/r/issues/1)'],
    ['a link in a quotation', '> [t]( \n> /o/r/issues/1)', '> [t]·( \n> /o/r/issues/1)'],
    ['a link with an escape', '[t](\n\\/o/r/issues/1)', '[t]·(\n\\/o/r/issues/1)'],
    ['a definition', '> [a]:\n> /o/r/issues/1', '> [a]·:\n> /o/r/issues/1'],
  ])('breaks a link whose address is on the next line: %s', (_name, written, safe) => {
    expect(text(written)).toBe(safe)
  })

  test('redirects the address of an issue behind another one', () => {
    const issue = 'https://github.com/o/r/issues/1'
    const safe = issue.replace('github', 'redirect.github')
    expect(text(`[a](https://e.com)${issue}`)).toBe(`[a](https://e.com)${safe}`)
    expect(text(`|https://a.b/|${issue}|`)).toBe(`|https://a.b/|${safe}|`)
    expect(text(`**${issue}** _${issue}_`)).toBe(`**${safe}** _${safe}_`)
    expect(text(`http:${issue} http:\\${issue}`)).toBe(`http:${safe} http:\\${safe}`)
    expect(text(`${issue}?&copy;`)).toBe(`${safe}?&copy;`.replace('&', '%26'))
    expect(text('www&#46;github.com/o/r/pull/1')).toContain('//redirect.github.com/')
    expect(text('www.github.com/o/r/pull/1')).toBe('https://redirect.github.com/o/r/pull/1')
  })

  test.each([
    ['inline', '![chart](https://evil.example/?d=1)', '[chart](https://evil.example/?d=1)'],
    ['by reference', '![chart][1]', '[chart][1]'],
    ['with a second mark', '!![a](https://evil.example)', '[a](https://evil.example)'],
    [
      'in a link',
      '[![a](https://b.example/c)](https://d.example)',
      '[[a](https://b.example/c)](https://d.example)',
    ],
    [
      'of a host that only looks allowed',
      '![a](https://img.example.evil.com/b)',
      '[a](https://img.example.evil.com/b)',
    ],
    [
      'of an account at an allowed host',
      '![a](https://img.example@evil.com/b)',
      '[a](https://img.example@evil.com/b)',
    ],
    ['of an allowed host', '![a](https://img.example/b "c")', '![a](https://img.example/b "c")'],
    [
      'of an allowed host with an escape',
      '![a](https://img.example/b\\_c?d=1&amp;e)',
      '![a](https://img.example/b_c?d=1&e)',
    ],
    ['in code', '`![a](b)`', '`[a](b)`'],
  ])('with an image is handled: %s', (_name, written, safe) => {
    expect(seen(safeText(written, new Set(['img.example'])))).toBe(safe)
  })

  test.each([
    '![a](https://img.example\\.evil.com/b)',
    '![a](https://img.example\\-evil.com/b)',
    '![a](https://img.example\\@evil.com/b)',
    '![a](https://img.example\\:80@evil.com/b)',
    '![a](https://img.example&#46;evil.com/b)',
    '![a](https://img.example&period;evil.com/b)',
    '![a](https://img.example&middot;evil.com/b)',
    '![a](https://img.example:8443/b)',
    '![a](https://img.example./b)',
    '![a](https://me@img.example/b)',
    '![a](https:/\\\\evil.com/b)',
    '![a](<https://evil.com/b>)',
    '![a](//evil.com/b)',
    '![a\\](https://img.example/b)](https://evil.com/b)',
    '![a`](https://img.example/b)`](https://evil.com/b)',
    '![a <https://x](https://img.example/b)>](https://evil.com/b)',
    '![a https://x](https://img.example/b)](https://evil.com/b)',
    '![a $](https://img.example/b)$](https://evil.com/b)',
    '| ![a](https://img.example/b "|") |\n|-|-|\n\n[a]: https://evil.com/b',
  ])('contains no image that a reader could load from another host: %s', (written) => {
    expect(safeText(written, new Set(['img.example']))).not.toContain('![')
  })

  test.each([
    ['/approve', '/·approve'],
    ['  /lgtm cancel', '  /·lgtm cancel'],
    ['\u00a0/approve', '\u00a0/·approve'],
    ['\u3000 /approve', '\u3000 /·approve'],
    ['\u180e/approve', '\u180e/·approve'],
    ['a\n\u2003bors r+', 'a\n\u2003b·ors r+'],
    ['```\n\u00a0/merge\n```', '```\n\u00a0/·merge\n```'],
    ['bors r+', 'b·ors r+'],
    ['@bors try', '@·bors try'],
    ['Jenkins, retest this', 'J·enkins, retest this'],
    ['recheck', 'r·echeck'],
    ['r+', 'r·+'],
    ['```\n/merge\n@bors r+\n```', '```\n/·merge\n@b·ors r+\n```'],
    ['say /approve or borscht', 'say /approve or borscht'],
    ['// a comment', '// a comment'],
  ])('contains no command for a bot: %s', (written, safe) => {
    expect(text(written)).toBe(safe)
  })

  test('keeps a fold, with empty lines around its content, and closes it', () => {
    expect(text('<details open>\n<summary><b>More</b> @a</summary>\n```\nx\n```')).toBe(
      [
        ...['<details open>', '', '<summary>More @·a</summary>', '', '```', 'x', '```'],
        ...['', '</details>'],
      ].join('\n'),
    )
  })

  test.each([
    ['an open fence is closed', '~~~js\n@a', '~~~js\n@a\n~~~'],
    ['a longer one is not ended by a shorter', '````\n```\n@a', '````\n```\n@a\n````'],
    [
      'one that only some take for the end',
      '- a\n  ```\n    ```\n  @a',
      '- a\n  ```\n    ·```\n  @a\n  ```',
    ],
    ['less indent ends it', '- a\n  ```\n@a', '- a\n  ```\n  ```\n@·a'],
    ["one behind a list's mark", '1. ```\n   @a\n   ```\n@a', '1.\n   ```\n   @a\n   ```\n@·a'],
    ['one that may be none', '- a\n\n    ```\n    @a\n@a', '- a\n\n    ```\n    @·a\n    ```\n@·a'],
    ['one in a quotation', '> ```\n> @a\n\n@a', '> ```\n> @·a\n\n@·a'],
    [
      'a line of wide spaces is not empty, so raw HTML has not ended',
      '<details>\n\u3000\n```\n<img src=x>\n```\n</details>',
      '<details>\n\n\u3000\n```\n<img src=x>\n```\n</details>',
    ],
    [
      'nor is it in a list',
      '- a\n  ```\n\u00a0\n<img src=x>',
      '- a\n  ```\n  ```\n\u00a0\n<·img src=x>',
    ],
    [
      'one behind a space that cannot break ends nothing',
      '```\n\u00a0```\n```\n<img src=x>',
      '```\n\u00a0```\n```\n<·img src=x>',
    ],
    ['nor one before it', '```\n```\u00a0\n```\n@a', '```\n·```\u00a0\n```\n@·a'],
    ['tabs are columns', '-\t```\n\t@a', '-\n    ```\n\t@·a\n    ```'],
  ])('%s', (_name, written, safe) => {
    expect(text(written)).toBe(safe)
  })

  test('hides secrets', () => {
    expect(text(`token: ghs_${'a'.repeat(40)}`)).toBe('token: ghs_(hidden)')
    for (const invisible of ['\u200b', '\u200d', '\u00ad', '\ufe0f', '\u{e0041}', '\u0007']) {
      expect(text(`gh${invisible}s_aa${invisible}aaaaaa`)).toBe('ghs_(hidden)')
    }
    const body = 'a'.repeat(40)
    expect(text(`\\&#103;hs_${body}`)).toBe(`\\&#·103;hs_${body}`)
    expect(text(`<details><summary>gh<b></b>s_${body}</summary>`)).toContain(
      '<summary>ghs_(hidden)</summary>',
    )
  })
})

describe('a line', () => {
  test.each([
    ['is one line', ' a\n\tb\r\n\u2028c ', 'a b c'],
    [
      'has no Markdown',
      '**a** _b_ `c` ~d~ [e](f) ![g](h)',
      '\\*\\*a\\*\\* \\_b\\_ \\`c\\` \\~d\\~ \\[e\\](f) !\\[g\\](h)',
    ],
    ['keeps names as they are', 'snake_case_name src/a-b.ts:42', 'snake_case_name src/a-b.ts:42'],
    ['has no HTML and no marker', '<!-- x --> &lt;', '&lt;!-- x --&gt; &amp;lt;'],
    ['breaks no table', 'a | b', 'a \\| b'],
    ['mentions no person', '@a b@c.d', '@·a b@·c.d'],
    [
      'links nowhere',
      'https://a.b www.a.b #12 a/b#3 GH-4',
      'https:·//a.b www.·a.b #·12 a/b#·3 GH-·4',
    ],
    ['is not a heading', '# a', '\\# a'],
    ['is not a list', '- a', '\\- a'],
    ['is not a numbered list', '12. a', '12\\. a'],
    ['shows no secret', 'Bearer abc123def', 'Bearer (hidden)'],
  ])('%s', (_name, written, safe) => {
    expect(line(written)).toBe(safe)
  })

  test('is cut between characters', () => {
    expect(line('abcdef', 6)).toBe('abcdef')
    expect(line('abcdefg', 6)).toBe('abcde…')
    expect(line('ab👨‍👩‍👧👨‍👩‍👧', 12)).toBe('ab👨‍👩‍👧…')
  })
})

describe('a body that is too long', () => {
  test('ends at a line and says so', () => {
    const body = 'one line\n'.repeat(100)
    const cut = cutBody(body, 200)
    expect(cut.length).toBeLessThanOrEqual(200)
    expect(cut).toMatch(/^(?:one line\n)+\n_Shortened: the rest did not fit\._$/)
  })

  test('has no open fold or code block', () => {
    const body = `<details>\n\n\`\`\`\n${'x\n'.repeat(1000)}`
    expect(cutBody(body, 200, 'cut')).toMatch(/x\n```\n\n<\/details>\n\ncut$/)
  })

  test('of one line is cut between characters', () => {
    for (let max = 100; max < 130; max += 1) {
      const cut = cutBody('👨‍👩‍👧'.repeat(100), max, 'cut')
      expect(cut.length).toBeLessThanOrEqual(max)
      expect(cut).toMatch(/^(?:👨‍👩‍👧)+\n\ncut$/u)
    }
  })

  test('does not lose half of a pair of backticks to a mention', () => {
    const safe = safeText(`\`@octocat ${'x'.repeat(500)}\``)
    expect(safe).toContain('`@octocat')
    expect(cutBody(safe, 100)).toContain('`@\u200boctocat')
  })

  test('does not keep half of a tag', () => {
    const safe = safeText(`a\n\n<details><summary>${'x'.repeat(500)}</summary>\n\nb`)
    expect(cutBody(safe, 100, 'cut')).toBe('a\n\ncut')
  })

  test('is empty if nothing fits, and a body that fits stays unchanged', () => {
    expect(cutBody('abc', 3)).toBe('abc')
    expect(cutBody('abc', 0)).toBe('')
    expect(cutBody('abc', -5)).toBe('')
  })
})

const pieces = fc.constantFrom(
  ...['@octocat', '@org/team', '&#64;a', '<!--', '-->', '<!-- holdfast:', '<', '>', '<details>'],
  ...[
    '</details>',
    '<summary>',
    '<b>',
    '[',
    '](',
    ')',
    '\\',
    '|',
    '\n',
    '\n\n',
    '    ',
    '- ',
    '> ',
  ],
  ...['👨‍👩‍👧', '\ud83d', '\u200b', '\u202e', '*', '_', '#', 'a', 'http://a.b/@c', '-', '!'],
)
const hostile = fc.oneof(
  fc
    .array(fc.oneof(pieces, fc.string({ unit: 'grapheme' })), { maxLength: 40 })
    .map((all) => all.join('')),
  fc.string({ unit: 'binary' }),
)

test('any text gives no comment, and no mention outside code', () => {
  fc.assert(
    fc.property(hostile, fc.nat(200), (written, max) => {
      for (const safe of [safeText(written), cutBody(safeText(written), max), safeLine(written)]) {
        expect(safe).not.toContain('<!--')
        if (!/[`~]/.test(safe)) expect(safe).not.toMatch(/(?<![A-Za-z0-9])@[A-Za-z0-9]/)
        expect(safe.isWellFormed()).toBe(true)
      }
      expect(safeLine(written)).not.toMatch(/\n/)
      expect(cutBody(safeText(written), max).length).toBeLessThanOrEqual(max)
      expect(safeText(written)).toBe(safeText(written))
    }),
    { numRuns: 500, seed: 11 },
  )
})
