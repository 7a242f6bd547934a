/**
 * The linter sees types. The whole strict set is on; each rule that is off or loosened says why.
 */
import js from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import tseslint from 'typescript-eslint'

export default defineConfig(
  globalIgnores(['node_modules/', 'coverage/', 'data/', 'dist/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      // A default branch may stand for the rest where the value is open, such as an error number;
      // a union of our own without one must name every member.
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // A number reads the same in a message as through String().
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => clearTimeout(timer)` and `return resolve()` as a guard are plain to read; a void
      // value that is used for anything is still refused.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        {
          ignoreArrowShorthand: true,
          ignoreVoidOperator: true,
          ignoreVoidReturningFunctions: true,
        },
      ],
      // Off: a store verb is a generator that may decide from what it was given without a statement,
      // and an implementation of an async port may have nothing to wait for.
      'require-yield': 'off',
      '@typescript-eslint/require-await': 'off',
      // Off: Node strips types and takes no enums, so there are none; and looking for them is slow.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      // Off: a handler that may return something or nothing is typed as just that, `X | void`.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // A leading underscore says that a name is there only to be left out.
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // `== null` is the one comparison that means both null and undefined.
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    files: ['**/*.test.ts', 'test/**', 'bench/**', 'examples/**'],
    rules: {
      // Off: a test knows that the row it has just written is there, and fails loudly when it is not.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Off: answers of the product come over HTTP as JSON, and the assertion on them is the check.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  {
    // Off: these run as plain JavaScript on any Node, without types to tell what is global.
    files: ['**/*.mjs', '**/*.js'],
    rules: { 'no-undef': 'off' },
  },
)
